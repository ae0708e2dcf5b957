import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteAttendanceRepository {
  func createMember(_ draft: Member, by caller: AttendanceCaller, idempotency: IdempotentRequest?) async throws
    -> Member
  {
    try await change(by: caller, idempotency) { context in
      let member = try context.create(draft)
      try context.audit("member.create", member.id, old: nil, new: .of(member))
      return member
    }
  }

  func member(_ number: Int64) async throws -> Member {
    let member = try await readSingle { try $0.queryOne(MemberRow.oneSQL, [.integer(number)], MemberRow.member) }
    guard let member else { throw RPCError.memberNotFound(AttendanceIDs.memberID(number), field: "memberId") }
    return member
  }

  func members(_ query: PositionQuery, includesInactive: Bool) async throws -> PageRows<Member> {
    try await readSingle { transaction in
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

  func updateMember(_ change: Member, fields: [MemberField], by caller: AttendanceCaller) async throws -> Member {
    try await self.change(by: caller) { context in
      let found = try context.member(change.number, field: "member.id")
      guard change.etag.isEmpty || change.etag == found.etag else {
        throw RPCError.etagMismatch(field: "member.etag", current: found.etag)
      }
      guard found.eraseTime == nil else { throw RPCError.refused("member.id", "was erased", .memberErased) }
      var member = found
      for field in fields { field.copy(from: change, to: &member) }
      guard member != found else { return found }
      var violations = Violations()
      if member.email != found.email { MemberRules.checkEmailMarks(member.email, "member.email", &violations) }
      MemberRules.checkOrder(member, "member", &violations)
      try violations.check()
      member = try context.rewrite(member, from: found)
      try context.audit("member.update", member.id, old: .of(found), new: .of(member))
      return member
    }
  }

  func setActive(_ number: Int64, _ isActive: Bool, by caller: AttendanceCaller) async throws -> Member {
    try await change(by: caller) { context in
      let found = try context.member(number, field: "memberId")
      guard found.active != isActive else { return found }
      guard found.eraseTime == nil else { throw RPCError.refused("memberId", "was erased", .memberErased) }
      var member = found
      member.active = isActive
      member = try context.rewrite(member, from: found)
      if !isActive { try context.endSessions(of: number) }
      try context.audit(
        isActive ? "member.reactivate" : "member.deactivate", member.id, old: .of(found), new: .of(member))
      return member
    }
  }

  func setPin(_ number: Int64, hash: String?, by caller: AttendanceCaller) async throws {
    try await change(by: caller) { context in
      try replacePin(of: number, hash: hash, retainedSession: nil, retainedDevice: nil, context)
      try context.unlock(number)
    }
  }

  func changePin(
    from oldHash: String?, to hash: String, _ number: Int64, _ attempt: PinAttempt, by caller: AttendanceCaller
  ) async throws {
    try await change(by: caller) { context in
      guard try context.pinHash(of: number) == oldHash else { throw SessionsService.credentialsInvalid }
      try replacePin(
        of: number, hash: hash, retainedSession: caller.sessionHash, retainedDevice: attempt.device, context)
      if let device = attempt.device { try context.renew(device) }
      try context.loginSucceeded(attempt.subject, isCounted: attempt.device == nil)
      try context.attemptSucceeded(attempt.subject, from: attempt.origin)
    }
  }

  private func replacePin(
    of number: Int64, hash: String?, retainedSession: [UInt8]?, retainedDevice: [UInt8]?, _ context: WriteContext
  ) throws {
    let found = try context.member(number, field: "memberId")
    guard found.eraseTime == nil else { throw RPCError.refused("memberId", "was erased", .memberErased) }
    if let hash {
      try context.transaction.execute(
        SessionTable.setPinSQL, [.integer(number), .text(hash), .integer(context.nowMs)])
    } else {
      try context.transaction.execute(SessionTable.dropPinSQL, [.integer(number)])
    }
    try context.endSessions(of: number, except: retainedSession, retainedDevice: retainedDevice)
    if found.hasPin != (hash != nil) {
      var member = found
      member.hasPin = hash != nil
      _ = try context.rewrite(member, from: found)
    }
    // The audit log records that the PIN was set, never its value.
    try context.audit("member.pin", found.id, old: nil, new: nil)
  }

  func eraseMember(
    _ number: Int64, confirmedName: String, etag: String, by caller: AttendanceCaller
  ) async throws -> (member: Member, redacted: Int) {
    try await change(by: caller) { context in
      let found = try context.member(number, field: "memberId")
      if found.eraseTime != nil { return (found, 0) }
      guard etag.isEmpty || etag == found.etag else {
        throw RPCError.etagMismatch(field: "etag", current: found.etag)
      }
      guard found.name == confirmedName else {
        throw RPCError.refused("confirmName", "is not the member's name", .nameNotConfirmed)
      }
      var member = Member(id: found.id, number: number, name: "Erased \(found.id)")
      // The initiation decides which meetings count: without it, totals would change.
      member.initiationDate = found.initiationDate
      member.degree = found.degree
      member.office = .noneValue
      member.role = .member
      member.createTime = found.createTime
      member.eraseTime = context.nowTime
      member = try context.rewrite(member, from: found)
      try context.transaction.execute(SessionTable.dropPinSQL, [.integer(number)])
      try context.transaction.execute(FeedTable.deleteOfOwnerSQL, [.text(found.id)])
      try context.transaction.execute(NoticeTable.dropBucketSQL, [.text(found.userId)])
      try context.endSessions(of: number)
      try context.unlock(number)
      let redacted = try context.transaction.executeCounting(AuditRow.redactSQL, [.text(found.id)])
      try context.audit("member.erase", found.id, old: nil, new: nil)
      return (member, redacted)
    }
  }
}
