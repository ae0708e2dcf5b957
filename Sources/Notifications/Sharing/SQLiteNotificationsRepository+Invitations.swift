import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Creating, listing and withdrawing invitations.
extension SQLiteNotificationsRepository {
  static let ownersInvitationsSQL = "SELECT count(*) FROM invitations WHERE owner_id = $1"
  static let bucketsPendingSQL = """
    SELECT count(*) FROM invitations WHERE owner_id = $1 AND bucket_id = $2 AND state = 1 AND ends_at_ms > $3
    """
  /// Does not count accepted invitations: a user who agrees may be invited to many buckets.
  static let pairInvitationsSQL = "SELECT count(*) FROM invitations WHERE owner_id = $1 AND user_id = $2 AND state <> 2"
  static let receivedCountSQL = """
    SELECT count(*) FROM invitations WHERE user_id = $1 AND state = 1 AND is_hidden = 0 AND ends_at_ms > $2
    """
  static let hiddenCountSQL = """
    SELECT count(*) FROM invitations
    WHERE owner_id = $1 AND user_id = $2 AND state = 1 AND is_hidden = 1 AND ends_at_ms > $3
    """
  static let revealSQL = "UPDATE invitations SET is_hidden = 0 WHERE id = $1"
  static let deleteInvitationSQL = "DELETE FROM invitations WHERE id = $1"
  static let endInvitationSQL = "UPDATE invitations SET state = $1, ends_at_ms = $2 WHERE id = $3"
  static let withdrawAllSQL = """
    UPDATE invitations SET state = 4, ends_at_ms = $3 WHERE owner_id = $1 AND bucket_id = $2 AND state = 1
    """
  static let withdrawOfInviterSQL = """
    UPDATE invitations SET state = 4, ends_at_ms = $3
    WHERE owner_id = $1 AND bucket_id = $2 AND state = 1 AND inviter_id = $4
    """

  func invite(
    _ terms: InvitationTerms, by user: String, idempotency: IdempotentRequest?
  ) async throws -> Invitation {
    try await write { transaction in
      if let invitation = try storedReply(Invitation.self, idempotency, transaction) { return invitation }
      let bucket = try administered(
        terms.bucketID, by: user, role: terms.role == .admin ? .owner : .admin, transaction)
      guard try membership(ofOther: terms.userID, in: bucket, transaction) == nil else {
        throw RPCError.failedPrecondition("userId", "the user is a member of the bucket", .alreadyMember)
      }
      let invitation = try invite(terms, to: bucket, by: user, transaction)
      try storeReply(invitation, idempotency, transaction)
      return invitation
    }
  }

  /// Stores an invitation of a user who is not a member.
  ///
  /// - Parameter bucket: The caller's view of the bucket.
  func invite(
    _ terms: InvitationTerms, to bucket: Bucket, by user: String, _ transaction: WriteTransaction
  ) throws -> Invitation {
    let nowMs = clockMs()
    let old = try transaction.queryOne(
      InvitationRow.ofMemberSQL, [.text(bucket.ownerId), .text(bucket.id), .text(terms.userID)], InvitationRow.init)
    let isHidden = try isBlocked(user, or: bucket.ownerId, by: terms.userID, transaction)
    if let old, old.state(nowMs: nowMs) == .pending {
      if old.hasTerms(terms) {
        // Return the same id in both cases: a new id would reveal a block, or its end.
        if old.isHidden, !isHidden { try transaction.execute(Self.revealSQL, [.text(old.invitation.id)]) }
        return old.seen(nowMs: nowMs)
      }
      guard old.invitation.role != .admin || bucket.role == .owner else {
        throw RPCError.roleMissing(.owner, field: "userId")
      }
    } else {
      if let old, old.invitation.state == .declined, old.endsAtMs + InvitationRules.restMs > nowMs {
        throw Self.tooSoon(untilMs: old.endsAtMs + InvitationRules.restMs)
      }
      try requireInvitationRoom(terms, of: bucket, replacing: old, nowMs: nowMs, transaction)
    }
    if let old { try transaction.execute(Self.deleteInvitationSQL, [.text(old.invitation.id)]) }
    let invitation = Invitation(
      id: ids.next(prefix: SortableID.invitationPrefix).id, bucketId: bucket.id, bucketName: bucket.name,
      ownerId: bucket.ownerId, inviterId: user, userId: terms.userID, role: terms.role,
      shareExpireTime: terms.shareExpireTime, createTime: ProtoTimestamp(millisecondsSince1970: nowMs), state: .pending)
    let row = InvitationRow(
      invitation, endsAtMs: InvitationRules.endMs(terms.expireTime, nowMs: nowMs), isHidden: isHidden)
    try transaction.execute(InvitationRow.insertSQL, row.arguments)
    return row.seen(nowMs: nowMs)
  }

  private static func tooSoon(untilMs: Int64) -> RPCError {
    var error = RPCError.failedPrecondition(
      "userId", "the user has declined or left this bucket and cannot be invited again for 30 days; use an invite code",
      .invitationTooSoon)
    // The JSON of a timestamp, without its quotes.
    let time = ProtoTimestamp(millisecondsSince1970: untilMs).jsonString()
    error.errorMetadata["inviteAfterTime"] = String(time.dropFirst().dropLast())
    return error
  }

  /// Throws RESOURCE_EXHAUSTED if another invitation exceeds a limit of the owner, the bucket or the invited user.
  ///
  /// An owner's hidden invitations count like delivered ones, so that the response does not reveal a block. Hidden
  /// invitations of other owners do not count, so that they cannot use up a user's limit unseen.
  private func requireInvitationRoom(
    _ terms: InvitationTerms, of bucket: Bucket, replacing old: InvitationRow?, nowMs: Int64,
    _ transaction: WriteTransaction
  ) throws {
    let (owner, user) = (SQLValue.text(bucket.ownerId), SQLValue.text(terms.userID))
    func count(_ sql: String, _ arguments: [SQLValue]) throws -> Int64 {
      try transaction.queryOne(sql, arguments) { try $0.integer(0) } ?? 0
    }
    func require(_ count: Int64, below max: Int, _ bound: String) throws {
      guard count < Int64(max) else {
        throw RPCError.exhausted("\(bound): at most \(max)", .invitationsExhausted, limit: max)
      }
    }
    if old == nil {
      try require(
        count(Self.ownersInvitationsSQL, [owner]), below: limits.invitationsPerOwnerMax,
        "invitations of one owner, pending or ended within 30 days")
    }
    if old == nil || old?.invitation.state == .accepted {
      try require(
        count(Self.pairInvitationsSQL, [owner, user]), below: limits.invitationsPerPairMax,
        "invitations of one owner to one user, pending or not accepted within 30 days")
    }
    try require(
      count(Self.bucketsPendingSQL, [owner, .text(bucket.id), .integer(nowMs)]),
      below: limits.invitationsPerBucketMax, "pending invitations of one bucket")
    let received =
      try count(Self.receivedCountSQL, [user, .integer(nowMs)])
      + count(Self.hiddenCountSQL, [owner, user, .integer(nowMs)])
    try require(received, below: limits.invitationsReceivedMax, "pending invitations received by one user")
  }

  func invitations(of bucketID: String, _ query: PositionQuery) async throws -> [Invitation] {
    try await read { transaction in
      let bucket = try administered(bucketID, by: query.user, transaction)
      let nowMs = clockMs()
      return try transaction.query(
        InvitationRow.ofBucketSQL,
        [.text(bucket.ownerId), .text(bucketID), .text(query.position.first ?? ""), .int(query.pageSize + 1)]
      ) { try InvitationRow($0).seen(nowMs: nowMs) }
    }
  }

  func receivedInvitations(_ query: PositionQuery) async throws -> [Invitation] {
    let nowMs = clockMs()
    return try await readSingle { transaction in
      try transaction.query(
        InvitationRow.receivedSQL,
        [.text(query.user), .text(query.position.first ?? "i_~"), .integer(nowMs), .int(query.pageSize + 1)]
      ) { try InvitationRow($0).seen(nowMs: nowMs) }
    }
  }

  func cancelInvitation(_ id: String, of bucketID: String, by user: String) async throws {
    try await write { transaction in
      let bucket = try administered(bucketID, by: user, transaction)
      let row = try transaction.queryOne(InvitationRow.byIDSQL, [.text(id)], InvitationRow.init)
      guard let row, row.invitation.ownerId == bucket.ownerId, row.invitation.bucketId == bucketID else {
        throw RPCError.invitationNotFound(id)
      }
      guard row.invitation.role != .admin || bucket.role == .owner else {
        throw RPCError.roleMissing(.owner, field: "invitationId")
      }
      switch row.invitation.state {
      case .pending: try end(row, as: .cancelled, transaction)
      case .cancelled: return
      default: throw RPCError.invitationEnded(row.invitation.state)
      }
    }
  }

  func end(_ row: InvitationRow, as state: Invitation.State, _ transaction: WriteTransaction) throws {
    try transaction.execute(
      Self.endInvitationSQL, [.integer(Int64(state.rawValue)), .integer(clockMs()), .text(row.invitation.id)])
  }

  /// Withdraws the pending invitations and the invite codes of a bucket: all of them, or those that one of its admins
  /// created.
  func withdraw(
    of bucketID: String, owner: String, madeBy inviter: String? = nil, _ transaction: WriteTransaction
  ) throws {
    var arguments: [SQLValue] = [.text(owner), .text(bucketID)]
    guard let inviter else {
      try transaction.execute(Self.deleteCodesSQL, arguments)
      try transaction.execute(Self.withdrawAllSQL, arguments + [.integer(clockMs())])
      return
    }
    try transaction.execute(Self.deleteCodesOfCreatorSQL, arguments + [.text(inviter)])
    arguments += [.integer(clockMs()), .text(inviter)]
    try transaction.execute(Self.withdrawOfInviterSQL, arguments)
  }
}
