import CampanileAPI
import CampanileRPC
import CampanileService
import CampanileStore

extension Ledger {
  /// Adds a member with a number of its own. Only what callers may set is taken from the draft.
  func create(_ draft: Member) throws -> Member {
    guard try number(MemberRow.countSQL) < limits.membersMax else {
      throw RPCError.exhausted(
        "there may be \(limits.membersMax) members", .membersExhausted, limit: limits.membersMax)
    }
    var member = Member()
    for field in MemberField.allCases { field.copy(from: draft, to: &member) }
    try checkUnique(member)
    member.number = try next("member")
    member.id = Numbers.memberID(member.number)
    member.active = true
    member.createTime = nowTime
    member.updateTime = nowTime
    member.etag = Etag.text(version: 1)
    try transaction.execute(MemberRow.insertSQL, MemberRow.values(member, sequence: try sequences(1)))
    try recount(member.number, initiationDay: Days.parse(member.initiationDate))
    board.changedForAll()
    return member
  }

  /// Writes a changed member with a new etag, and counts anew where the initiation has moved.
  func rewrite(_ changed: Member, from old: Member) throws -> Member {
    var member = changed
    try checkUnique(member)
    member.updateTime = nowTime
    member.etag = Etag.text(version: (Etag.version(old.etag) ?? 0) + 1)
    try transaction.execute(MemberRow.updateSQL, MemberRow.values(member, sequence: try sequences(1)))
    if member.initiationDate != old.initiationDate {
      try recount(member.number, initiationDay: Days.parse(member.initiationDate))
    }
    board.changedForAll()
    return member
  }

  /// Throws ALREADY_EXISTS when another member has the name or the user.
  private func checkUnique(_ member: Member) throws {
    let key = SQLValue.text(MemberRules.key(of: member.name))
    if let other = try transaction.queryOne(MemberRow.byNameSQL, [key], { try $0.integer(0) }), other != member.number {
      throw RPCError.taken("member.name", .nameTaken)
    }
    guard !member.userId.isEmpty else { return }
    let user = try transaction.queryOne(MemberRow.byUserSQL, [.text(member.userId)]) { try $0.integer(0) }
    if let user, user != member.number { throw RPCError.taken("member.userId", .userTaken) }
  }

  /// Ends a member's sessions but one, and answers how many there were.
  @discardableResult
  func endSessions(of member: Int64, except kept: [UInt8]? = nil) throws -> Int {
    try transaction.execute(SessionTable.revokeSQL, [.integer(member), .blob(kept ?? [0])])
  }
}
