import CampanileAPI
import CampanileRPC
import CampanileStore

extension RPCError {
  /// NOT_FOUND for a bucket that does not exist or belongs to another user: the two look the same.
  static func bucketNotFound(_ id: String, field: String) -> RPCError {
    missing("bucket", id, field: field, .bucketNotFound)
  }

  /// NOT_FOUND for a notification that does not exist or belongs to another user.
  static func notificationNotFound(_ id: String, field: String) -> RPCError {
    missing("notification", id, field: field, .notificationNotFound)
  }

  /// ABORTED: the object changed since its etag was read (AIP-154).
  static func etagMismatch(field: String, current: String) -> RPCError {
    RPCError(
      .aborted, "\(field) is not the current etag: read the object again", reason: Reason.etagMismatch.rawValue,
      errorMetadata: ["etag": current],
      fieldViolations: [
        .init(field: field, description: "is not the current etag", reason: Reason.etagMismatch.rawValue)
      ])
  }

  static func exhausted(_ message: String, _ reason: Reason, limit: Int) -> RPCError {
    RPCError(.resourceExhausted, message, reason: reason.rawValue, errorMetadata: ["limit": String(limit)])
  }

  /// The answer to a failure of the store; `path` is that of the entry in a batch (`requests[3].`).
  init(_ failure: StoreError, at path: String = "") {
    self = failure.rpcError
    guard failure.code == .requestIDReused else { return }
    fieldViolations = [
      .init(field: "\(path)requestId", description: "was used for a different request", reason: reason)
    ]
  }

  static func missing(_ kind: String, _ id: String, field: String, _ reason: Reason) -> RPCError {
    // The id comes from the request: no more of it is echoed than an id has.
    let shown = String(id.unicodeScalars.prefix(64))
    return RPCError(
      .notFound, "\(kind) \(shown) does not exist", reason: reason.rawValue, errorMetadata: ["id": shown],
      fieldViolations: [.init(field: field, description: "does not exist", reason: reason.rawValue)])
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

  /// The same failure with its fields named as those of an entry of a batch.
  func inside(_ path: String) -> RPCError {
    guard !path.isEmpty else { return self }
    var inner = self
    inner.fieldViolations = fieldViolations.map {
      .init(field: path + $0.field, description: $0.description, reason: $0.reason)
    }
    return inner
  }
}
