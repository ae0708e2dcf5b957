import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore

extension WriteContext {
  /// Creates a member with a new number. Copies only the fields that callers may set.
  func create(_ draft: Member) throws -> Member {
    guard try number(MemberRow.countSQL) < limits.membersMax else {
      throw RPCError.exhausted(
        "at most \(limits.membersMax) members are allowed", .membersExhausted, limit: limits.membersMax)
    }
    var member = Member()
    for field in MemberField.allCases { field.copy(from: draft, to: &member) }
    try checkUnique(member)
    member.number = try next("member")
    member.id = AttendanceIDs.memberID(member.number)
    member.active = true
    member.createTime = nowTime
    member.updateTime = nowTime
    member.etag = Etag.text(version: 1)
    try transaction.execute(MemberRow.insertSQL, MemberRow.values(member, sequence: try sequences(1)))
    try recount(member.number, initiationDay: Days.parse(member.initiationDate))
    notifier.changedForAll()
    return member
  }

  /// Writes a changed member with a new etag, and recounts the statistics if the initiation has changed.
  func rewrite(_ changed: Member, from old: Member) throws -> Member {
    var member = changed
    try checkUnique(member)
    member.updateTime = nowTime
    member.etag = Etag.text(version: (Etag.version(old.etag) ?? 0) + 1)
    try transaction.execute(MemberRow.updateSQL, MemberRow.values(member, sequence: try sequences(1)))
    if member.initiationDate != old.initiationDate {
      try recount(member.number, initiationDay: Days.parse(member.initiationDate))
    }
    notifier.changedForAll()
    return member
  }

  /// Throws ALREADY_EXISTS if another member has the name or the user id.
  private func checkUnique(_ member: Member) throws {
    let key = SQLValue.text(MemberRules.key(of: member.name))
    if let other = try transaction.queryOne(MemberRow.byNameSQL, [key], { try $0.integer(0) }), other != member.number {
      throw RPCError.taken("member.name", .nameTaken)
    }
    guard !member.userId.isEmpty else { return }
    let user = try transaction.queryOne(MemberRow.byUserSQL, [.text(member.userId)]) { try $0.integer(0) }
    if let user, user != member.number { throw RPCError.taken("member.userId", .userTaken) }
  }

  /// Ends a member's sessions except `kept`, and revokes the device tokens except `retainedDevice`.
  ///
  /// - Returns: The number of ended sessions.
  @discardableResult
  func endSessions(of member: Int64, except kept: [UInt8]? = nil, retainedDevice: [UInt8]? = nil) throws -> Int {
    try transaction.execute(DeviceTable.revokeSQL, [.integer(member), .blob(retainedDevice ?? [0])])
    return try transaction.executeCounting(SessionTable.revokeSQL, [.integer(member), .blob(kept ?? [0])])
  }
}
