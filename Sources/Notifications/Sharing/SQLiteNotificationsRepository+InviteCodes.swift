import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Invite codes. Only the SHA-256 of a secret is stored, as for publish keys.
extension SQLiteNotificationsRepository {
  private static let codeColumns = """
    id, bucket_id, role, max_uses, use_count, created_at_ms, expires_at_ms, creator_id, hint, owner_id
    """
  static let codesSQL = """
    SELECT \(codeColumns) FROM invite_codes
    WHERE owner_id = $1 AND bucket_id = $2 AND expires_at_ms > $3 AND id > $4 ORDER BY id LIMIT $5
    """
  static let codeCountSQL = """
    SELECT count(*) FROM invite_codes WHERE owner_id = $1 AND bucket_id = $2 AND expires_at_ms > $3
    """
  static let codeSQL = "SELECT \(codeColumns) FROM invite_codes WHERE secret_hash = $1"
  static let useCodeSQL = "UPDATE invite_codes SET use_count = use_count + 1 WHERE id = $1"
  static let revokeCodeSQL = "DELETE FROM invite_codes WHERE id = $1 AND owner_id = $2 AND bucket_id = $3"
  static let expiredCodesSQL = """
    DELETE FROM invite_codes WHERE owner_id = $1 AND bucket_id = $2 AND expires_at_ms <= $3
    """
  static let deleteCodesSQL = "DELETE FROM invite_codes WHERE owner_id = $1 AND bucket_id = $2"
  static let deleteCodesOfCreatorSQL = """
    DELETE FROM invite_codes WHERE owner_id = $1 AND bucket_id = $2 AND creator_id = $3
    """

  func createInviteCode(
    _ code: InviteCode, secretHash: [UInt8], by user: String, idempotency: IdempotentRequest?
  ) async throws -> (code: InviteCode, isRepeated: Bool) {
    try await write { transaction in
      if let code = try storedReply(InviteCode.self, idempotency, transaction) { return (code, true) }
      let bucket = try administered(code.bucketId, by: user, transaction)
      let (id, nowMs) = ids.next(prefix: SortableID.inviteCodePrefix)
      let key: [SQLValue] = [.text(bucket.ownerId), .text(bucket.id), .integer(nowMs)]
      let count = try transaction.queryOne(Self.codeCountSQL, key) { try $0.integer(0) } ?? 0
      guard count < Int64(limits.inviteCodesPerBucketMax) else {
        throw RPCError.exhausted(
          "a bucket may have \(limits.inviteCodesPerBucketMax) invite codes", .inviteCodesExhausted,
          limit: limits.inviteCodesPerBucketMax)
      }
      try transaction.execute(Self.expiredCodesSQL, key)
      var kept = code
      kept.id = id
      kept.creatorId = user
      kept.createTime = ProtoTimestamp(millisecondsSince1970: nowMs)
      let endMs = InvitationRules.endMs(code.expireTime, nowMs: nowMs)
      kept.expireTime = ProtoTimestamp(millisecondsSince1970: endMs)
      try transaction.execute(
        """
        INSERT INTO invite_codes (id, owner_id, bucket_id, creator_id, role, max_uses, use_count, hint, secret_hash,
          created_at_ms, expires_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8, $9, $10)
        """,
        [
          .text(id), .text(bucket.ownerId), .text(bucket.id), .text(user), .integer(Int64(kept.role.rawValue)),
          .integer(Int64(kept.maxUses)), .text(kept.hint), .blob(secretHash), .integer(nowMs), .integer(endMs),
        ])
      try storeReply(kept, idempotency, transaction)
      return (kept, false)
    }
  }

  func inviteCodes(of bucketID: String, _ query: PositionQuery) async throws -> [InviteCode] {
    try await read { transaction in
      let bucket = try administered(bucketID, by: query.user, transaction)
      let arguments: [SQLValue] = [
        .text(bucket.ownerId), .text(bucketID), .integer(clockMs()), .text(query.position.first ?? ""),
        .int(query.pageSize + 1),
      ]
      return try transaction.query(Self.codesSQL, arguments, Self.inviteCode)
    }
  }

  func revokeInviteCode(_ id: String, of bucketID: String, by user: String) async throws {
    try await write { transaction in
      let bucket = try administered(bucketID, by: user, transaction)
      let count = try transaction.executeCounting(
        Self.revokeCodeSQL, [.text(id), .text(bucket.ownerId), .text(bucketID)])
      guard count > 0 else { throw RPCError.missing("invite code", id, field: "codeId", .inviteCodeNotFound) }
    }
  }

  func acceptInviteCode(secretHash: [UInt8], by user: String) async throws -> Bucket {
    try await write { transaction in
      let found = try transaction.queryOne(Self.codeSQL, [.blob(secretHash)]) { row in
        (code: try Self.inviteCode(row), owner: try row.text(9))
      }
      guard let (code, owner) = found, (code.expireTime?.millisecondsSince1970 ?? 0) > clockMs(),
        let owners = try transaction.queryOne(
          Self.bucketSQL, [.text(owner), .text(code.bucketId)], BucketRow.bucket)
      else { throw Self.codeInvalid }
      if user == owner { return owners }
      if let known = try membership(of: user, in: owners, transaction) { return known }
      guard code.maxUses == 0 || code.useCount < code.maxUses else { throw Self.codeInvalid }
      let share = BucketShare(userId: user, role: code.role)
      let joined = try join(share, to: owners, field: "secret", transaction)
      try transaction.execute(Self.useCodeSQL, [.text(code.id)])
      return joined
    }
  }

  /// Unknown, revoked, expired and used-up codes are indistinguishable.
  private static var codeInvalid: RPCError {
    RPCError(
      .notFound, "the invite code is not valid", .inviteCodeInvalid,
      fieldViolations: [
        .init(field: "secret", description: "is not valid", reason: Reason.inviteCodeInvalid.rawValue)
      ])
  }

  private static func inviteCode(_ row: borrowing SQLRow) throws -> InviteCode {
    InviteCode(
      id: try row.text(0), bucketId: try row.text(1),
      role: .init(rawValue: Int32(truncatingIfNeeded: try row.integer(2))),
      maxUses: Int32(clamping: try row.integer(3)), useCount: Int32(clamping: try row.integer(4)),
      createTime: ProtoTimestamp(millisecondsSince1970: try row.integer(5)),
      expireTime: ProtoTimestamp(millisecondsSince1970: try row.integer(6)), creatorId: try row.text(7),
      hint: try row.text(8))
  }
}
