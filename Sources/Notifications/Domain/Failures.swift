import CampanileAPI
import CampanileRPC
import CampanileService

extension RPCError {
  /// NOT_FOUND for a bucket that does not exist or belongs to another user: the two look the same.
  static func bucketNotFound(_ id: String, field: String) -> RPCError {
    missing("bucket", id, field: field, .bucketNotFound)
  }

  /// NOT_FOUND for a notification that does not exist or belongs to another user.
  static func notificationNotFound(_ id: String, field: String) -> RPCError {
    missing("notification", id, field: field, .notificationNotFound)
  }
}

extension RPCError {
  /// PERMISSION_DENIED: the caller is a member of the bucket, but may not do this.
  static func roleMissing(_ role: BucketRole, field: String) -> RPCError {
    let name = role == .publisher ? "PUBLISHER" : role == .admin ? "ADMIN" : "OWNER"
    return RPCError(
      .permissionDenied, "the caller needs the role \(name) in this bucket", reason: Reason.roleMissing.rawValue,
      errorMetadata: ["role": name],
      fieldViolations: [
        .init(field: field, description: "needs the role \(name)", reason: Reason.roleMissing.rawValue)
      ])
  }

  static func contentNotFound(_ id: String, field: String) -> RPCError {
    missing("content", id, field: field, .contentNotFound)
  }
}
