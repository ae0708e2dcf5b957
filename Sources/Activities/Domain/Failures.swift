import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

extension RPCError {
  /// NOT_FOUND for an activity that does not exist or belongs to another user; the two cases are indistinguishable.
  static func activityNotFound(_ id: String, field: String = "activityId") -> RPCError {
    missing("activity", id, field: field, .activityNotFound)
  }

  /// NOT_FOUND for a token that does not exist or belongs to another user.
  static func tokenNotFound(_ id: String) -> RPCError { missing("token", id, field: "tokenId", .tokenNotFound) }

  static func activityEnded(field: String = "activityId") -> RPCError {
    refused(field, "the activity has ended: start another one", .activityEnded)
  }

  /// INVALID_ARGUMENT for a payload of more than `limit` bytes; the message states the excess.
  static func payloadTooLarge(_ field: String, sizeBytes: Int, limit: Int) -> RPCError {
    let excess = sizeBytes - limit
    let description = "makes a payload of \(sizeBytes) bytes, \(excess) more than \(limit)"
    return RPCError(
      .invalidArgument, "\(field): \(description)", .payloadTooLarge,
      errorMetadata: ["sizeBytes": "\(sizeBytes)", "limitBytes": "\(limit)", "excessBytes": "\(excess)"],
      fieldViolations: [.init(field: field, description: description, reason: Reason.payloadTooLarge.rawValue)])
  }
}
