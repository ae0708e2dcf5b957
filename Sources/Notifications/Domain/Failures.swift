import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

extension RPCError {
  /// Returns NOT_FOUND for a bucket that does not exist or belongs to another user; the two are indistinguishable.
  static func bucketNotFound(_ id: String, field: String) -> RPCError {
    missing("bucket", id, field: field, .bucketNotFound)
  }

  /// Returns NOT_FOUND for a notification that does not exist or belongs to another user.
  static func notificationNotFound(_ id: String, field: String) -> RPCError {
    missing("notification", id, field: field, .notificationNotFound)
  }
}

extension RPCError {
  /// Returns PERMISSION_DENIED for a member of the bucket whose role does not suffice.
  static func roleMissing(_ role: BucketRole, field: String) -> RPCError {
    let name = role == .publisher ? "PUBLISHER" : role == .admin ? "ADMIN" : "OWNER"
    return RPCError(
      .permissionDenied, "the caller needs the role \(name) in this bucket", .roleMissing,
      errorMetadata: ["role": name],
      fieldViolations: [
        .init(field: field, description: "needs the role \(name)", reason: Reason.roleMissing.rawValue)
      ])
  }

  static func contentNotFound(_ id: String, field: String) -> RPCError {
    missing("content", id, field: field, .contentNotFound)
  }
}
