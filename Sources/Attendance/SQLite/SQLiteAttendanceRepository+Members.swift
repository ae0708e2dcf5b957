import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteAttendanceRepository {
  func createMember(_ draft: Member, by caller: Caller, repeatable: RepeatableRequest?) async throws -> Member {
    try await change(by: caller, repeatable) { ledger in
      let member = try ledger.create(draft)
      try ledger.audit("member.create", member.id, old: nil, new: .of(member))
      return member
    }
  }

  func member(_ number: Int64) throws -> Member {
    let member = try readSingle { try $0.queryOne(MemberRow.oneSQL, [.integer(number)], MemberRow.member) }
    guard let member else { throw RPCError.memberNotFound(Numbers.memberID(number), field: "memberId") }
    return member
  }

  func members(_ query: PositionQuery, includesInactive: Bool) throws -> PageRows<Member> {
    try readSingle { transaction in
      var page = PageRows<Member>(countMax: query.pageSize)
      try transaction.forEach(
        includesInactive ? MemberRow.allSQL : MemberRow.activeSQL,
        [.text(query.position.first ?? ""), .int(query.pageSize + 1)]
      ) { row in
        let member = try MemberRow.member(row)
        return page.add(member, sizeBytes: member.sizeBytes)
      }
      return page
    }
  }

  func updateMember(_ change: Member, fields: [MemberField], by caller: Caller) async throws -> Member {
    try await self.change(by: caller) { ledger in
      let found = try ledger.member(change.number, field: "member.id")
      guard change.etag.isEmpty || change.etag == found.etag else {
        throw RPCError.etagMismatch(field: "member.etag", current: found.etag)
      }
      guard found.eraseTime == nil else { throw RPCError.refused("member.id", "was erased", .memberErased) }
      var member = found
      for field in fields { field.copy(from: change, to: &member) }
      guard member != found else { return found }
      var violations = Violations()
      MemberRules.checkOrder(member, "member", &violations)
      try violations.check()
      member = try ledger.rewrite(member, from: found)
      try ledger.audit("member.update", member.id, old: .of(found), new: .of(member))
      return member
    }
  }

  func setActive(_ number: Int64, _ isActive: Bool, by caller: Caller) async throws -> Member {
    try await change(by: caller) { ledger in
      let found = try ledger.member(number, field: "memberId")
      guard found.active != isActive else { return found }
      guard found.eraseTime == nil else { throw RPCError.refused("memberId", "was erased", .memberErased) }
      var member = found
      member.active = isActive
      member = try ledger.rewrite(member, from: found)
      if !isActive { try ledger.endSessions(of: number) }
      try ledger.audit(
        isActive ? "member.reactivate" : "member.deactivate", member.id, old: .of(found), new: .of(member))
      return member
    }
  }

  func setPin(_ number: Int64, hash: String?, keptSession: [UInt8]?, by caller: Caller) async throws {
    try await change(by: caller) { ledger in
      let found = try ledger.member(number, field: "memberId")
      guard found.eraseTime == nil else { throw RPCError.refused("memberId", "was erased", .memberErased) }
      if let hash {
        try ledger.transaction.execute(
          SessionTable.setPinSQL, [.integer(number), .text(hash), .integer(ledger.nowMs)])
      } else {
        try ledger.transaction.execute(SessionTable.dropPinSQL, [.integer(number)])
      }
      try ledger.endSessions(of: number, except: keptSession)
      if found.hasPin != (hash != nil) {
        var member = found
        member.hasPin = hash != nil
        _ = try ledger.rewrite(member, from: found)
      }
      // The log says that it was set; what it was stays out of it.
      try ledger.audit("member.pin", found.id, old: nil, new: nil)
    }
  }

  func eraseMember(
    _ number: Int64, confirmedName: String, by caller: Caller
  ) async throws -> (member: Member, redacted: Int) {
    try await change(by: caller) { ledger in
      let found = try ledger.member(number, field: "memberId")
      if found.eraseTime != nil { return (found, 0) }
      guard found.name == confirmedName else {
        throw RPCError.refused("confirmName", "is not the member's name", .nameNotConfirmed)
      }
      var member = Member()
      member.number = number
      member.id = found.id
      member.name = "Erased \(found.id)"
      // Whether a meeting counts follows from this day: without it, totals would change.
      member.initiationDate = found.initiationDate
      member.degree = found.degree
      member.role = .member
      member.createTime = found.createTime
      member.eraseTime = ledger.nowTime
      member = try ledger.rewrite(member, from: found)
      try ledger.transaction.execute(SessionTable.dropPinSQL, [.integer(number)])
      try ledger.transaction.execute(FeedTable.deleteOfOwnerSQL, [.text(found.id)])
      try ledger.endSessions(of: number)
      let redacted = try ledger.transaction.execute(AuditRow.redactSQL, [.text(found.id)])
      try ledger.audit("member.erase", found.id, old: nil, new: nil)
      return (member, redacted)
    }
  }
}
