import CampanileAPI
import CampanileCodec
import CampanileStore

/// Maps rows of `invitations`.
struct InvitationRow: Sendable, Hashable {
  static let columns = """
    id, owner_id, bucket_id, user_id, inviter_id, bucket_name, role, share_expires_at_ms, created_at_ms, ends_at_ms,
    state, is_hidden
    """
  static let insertSQL = """
    INSERT INTO invitations (\(columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
    """
  static let byIDSQL = "SELECT \(columns) FROM invitations WHERE id = $1"
  static let ofMemberSQL = """
    SELECT \(columns) FROM invitations WHERE owner_id = $1 AND bucket_id = $2 AND user_id = $3
    """
  static let ofBucketSQL = """
    SELECT \(columns) FROM invitations
    WHERE owner_id = $1 AND bucket_id = $2 AND user_id > $3 ORDER BY user_id LIMIT $4
    """
  static let receivedSQL = """
    SELECT \(columns) FROM invitations
    WHERE user_id = $1 AND state = 1 AND is_hidden = 0 AND id < $2 AND ends_at_ms > $3 ORDER BY id DESC LIMIT $4
    """

  /// The invitation with its stored state: an expired one is stored as pending.
  var invitation: Invitation
  var endsAtMs: Int64
  var isHidden: Bool

  init(_ invitation: Invitation, endsAtMs: Int64, isHidden: Bool) {
    self.invitation = invitation
    self.endsAtMs = endsAtMs
    self.isHidden = isHidden
  }

  init(_ row: borrowing SQLRow) throws {
    invitation = Invitation()
    invitation.id = try row.text(0)
    invitation.ownerId = try row.text(1)
    invitation.bucketId = try row.text(2)
    invitation.userId = try row.text(3)
    invitation.inviterId = try row.text(4)
    invitation.bucketName = try row.text(5)
    invitation.role = .init(rawValue: Int32(truncatingIfNeeded: try row.integer(6)))
    invitation.shareExpireTime = try row.integerIfPresent(7).map { ProtoTimestamp(millisecondsSince1970: $0) }
    invitation.createTime = ProtoTimestamp(millisecondsSince1970: try row.integer(8))
    endsAtMs = try row.integer(9)
    invitation.state = .init(rawValue: Int32(truncatingIfNeeded: try row.integer(10)))
    isHidden = try row.bool(11)
  }

  /// The arguments of `insertSQL`.
  var arguments: [SQLValue] {
    [
      .text(invitation.id), .text(invitation.ownerId), .text(invitation.bucketId), .text(invitation.userId),
      .text(invitation.inviterId), .text(invitation.bucketName), .integer(Int64(invitation.role.rawValue)),
      .integer(invitation.shareExpireTime?.millisecondsSince1970),
      .integer(invitation.createTime?.millisecondsSince1970 ?? 0), .integer(endsAtMs),
      .integer(Int64(invitation.state.rawValue)), .bool(isHidden),
    ]
  }

  /// Returns the current state. An invitation whose share would already have ended has expired, too.
  func state(nowMs: Int64) -> Invitation.State {
    guard invitation.state == .pending else { return invitation.state }
    return min(endsAtMs, invitation.shareExpireTime?.millisecondsSince1970 ?? .max) > nowMs ? .pending : .expired
  }

  /// Returns the invitation for a response.
  func seen(nowMs: Int64) -> Invitation {
    var seen = invitation
    seen.state = state(nowMs: nowMs)
    let end = ProtoTimestamp(millisecondsSince1970: endsAtMs)
    if invitation.state == .pending { seen.expireTime = end } else { seen.endTime = end }
    return seen
  }

  /// Whether the invitation already has these terms, so that inviting again would change nothing.
  func hasTerms(_ terms: InvitationTerms) -> Bool {
    invitation.role == terms.role
      && invitation.shareExpireTime?.millisecondsSince1970 == terms.shareExpireTime?.millisecondsSince1970
      && (terms.expireTime == nil || terms.expireTime?.millisecondsSince1970 == endsAtMs)
  }
}
