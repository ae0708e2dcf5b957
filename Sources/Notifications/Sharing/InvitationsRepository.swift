import CampanileAPI
import CampanileService

/// Stores invitations, invite codes and blocked users, under the rules of `NotificationsRepository`. Without the role
/// that a call requires, throws PERMISSION_DENIED, reason `ROLE_MISSING`.
protocol InvitationsRepository {
  /// Throws FAILED_PRECONDITION, reasons `ALREADY_MEMBER` and `INVITATION_TOO_SOON`, and RESOURCE_EXHAUSTED, reason
  /// `INVITATIONS_EXHAUSTED`.
  func invite(_ terms: InvitationTerms, by user: String, idempotency: IdempotentRequest?) async throws -> Invitation
  /// Returns the invitations of a bucket. The position of `query` is the id of a user.
  func invitations(of bucketID: String, _ query: PositionQuery) async throws -> [Invitation]
  /// Returns the pending invitations received by the query's user. The position is the id of an invitation.
  func receivedInvitations(_ query: PositionQuery) async throws -> [Invitation]
  /// Throws FAILED_PRECONDITION, reason `INVITATION_ENDED`, like the next two functions.
  func cancelInvitation(_ id: String, of bucketID: String, by user: String) async throws
  func declineInvitation(_ id: String, by user: String) async throws
  /// Throws RESOURCE_EXHAUSTED, reasons `SHARES_EXHAUSTED` and `SHARED_BUCKETS_EXHAUSTED`, FAILED_PRECONDITION, reason
  /// `BUCKET_ID_TAKEN`, and ABORTED, reason `BUCKET_BUSY`.
  func acceptInvitation(_ id: String, by user: String) async throws -> Bucket
  /// Stores a code. A repeated request returns the first code, and `isRepeated`.
  func createInviteCode(
    _ code: InviteCode, secretHash: [UInt8], by user: String, idempotency: IdempotentRequest?
  ) async throws -> (code: InviteCode, isRepeated: Bool)
  /// Returns the codes of a bucket. The position of `query` is the id of a code.
  func inviteCodes(of bucketID: String, _ query: PositionQuery) async throws -> [InviteCode]
  func revokeInviteCode(_ id: String, of bucketID: String, by user: String) async throws
  /// Throws NOT_FOUND, reason `INVITE_CODE_INVALID`, and the errors of `acceptInvitation`.
  func acceptInviteCode(secretHash: [UInt8], by user: String) async throws -> Bucket
  /// Throws RESOURCE_EXHAUSTED, reason `BLOCKED_USERS_EXHAUSTED`.
  func block(_ other: String, by user: String) async throws
  func unblock(_ other: String, by user: String) async throws
  /// The position of `query` is the id of a user.
  func blockedUsers(_ query: PositionQuery) async throws -> [BlockedUser]
}
