import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// The terms on which a user is invited to a bucket.
struct InvitationTerms: Sendable, Hashable {
  var bucketID: String
  var userID: String
  var role: BucketRole
  /// The end of the share; nil if it has none.
  var shareExpireTime: ProtoTimestamp?
  /// The end of the invitation; nil for the default.
  var expireTime: ProtoTimestamp?
}

/// Rules of invitations and invite codes.
enum InvitationRules {
  private static let dayMs: Int64 = 24 * 3_600_000
  static let lifetimeDefaultMs = 7 * dayMs
  static let lifetimeMaxMs = 30 * dayMs
  /// The time during which a bucket cannot invite a user who declined or left. Ended invitations are retained as long.
  static let restMs = Trash.retentionMs

  /// Checks an optional end time: in the future and within 30 days.
  static func expireTime(_ time: ProtoTimestamp?, nowMs: Int64, _ violations: inout Violations) {
    guard let time else { return }
    let before = violations.count
    RequestChecks.future(time, "expireTime", nowMs: nowMs, &violations)
    if violations.count == before, time.millisecondsSince1970 > nowMs + lifetimeMaxMs {
      violations.add("expireTime", "must be within 30 days", .outOfRange)
    }
  }

  /// Returns the end of a new invitation or code: the given time, or 7 days from now.
  static func endMs(_ time: ProtoTimestamp?, nowMs: Int64) -> Int64 {
    time?.millisecondsSince1970 ?? nowMs + lifetimeDefaultMs
  }
}

extension RPCError {
  /// Returns NOT_FOUND for an invitation that does not exist, is another user's, or is hidden; the three are
  /// indistinguishable.
  static func invitationNotFound(_ id: String) -> RPCError {
    missing("invitation", id, field: "invitationId", .invitationNotFound)
  }

  /// Returns FAILED_PRECONDITION for an invitation that can no longer be accepted, declined or withdrawn.
  static func invitationEnded(_ state: Invitation.State) -> RPCError {
    let end =
      switch state {
      case .accepted: "was accepted"
      case .declined: "was declined"
      case .expired: "has expired"
      default: "was withdrawn"
      }
    return failedPrecondition("invitationId", "the invitation \(end)", .invitationEnded)
  }

  static func blockedUsersExhausted(_ limits: NotificationsLimits) -> RPCError {
    let max = limits.blockedUsersPerUserMax
    return exhausted("a user may block \(max) others", .blockedUsersExhausted, limit: max)
  }

  /// Returns FAILED_PRECONDITION with a violation of one field.
  static func failedPrecondition(_ field: String, _ message: String, _ reason: Reason) -> RPCError {
    RPCError(
      .failedPrecondition, message, reason: reason.rawValue,
      fieldViolations: [.init(field: field, description: message, reason: reason.rawValue)])
  }
}
