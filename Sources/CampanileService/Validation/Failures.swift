public import CampanileBase
public import CampanileCodec
public import CampanileMessages
public import CampanileStore

extension RPCError {
  /// Creates an error with one of the services' reasons.
  public init(
    _ code: Code, _ message: String, _ reason: Reason, errorMetadata: [String: String] = [:],
    fieldViolations: [FieldViolation] = [], retryAfterMs: Int64? = nil
  ) {
    self.init(
      code, message, reason: reason.rawValue, errorMetadata: errorMetadata, fieldViolations: fieldViolations,
      retryAfterMs: retryAfterMs)
  }

  /// Creates an INVALID_ARGUMENT error about one field of the request.
  public static func invalidField(_ field: String, _ description: String, _ reason: Reason) -> RPCError {
    invalidField(field, description, reason: reason.rawValue)
  }

  /// Returns ABORTED for an object that has changed since its etag was read (AIP-154).
  public static func etagMismatch(field: String, current: String) -> RPCError {
    RPCError(
      .aborted, "\(field) is not the current etag: read the object again", reason: Reason.etagMismatch.rawValue,
      errorMetadata: ["etag": current],
      fieldViolations: [
        .init(field: field, description: "is not the current etag", reason: Reason.etagMismatch.rawValue)
      ])
  }

  public static func exhausted(_ message: String, _ reason: Reason, limit: Int) -> RPCError {
    RPCError(.resourceExhausted, message, reason: reason.rawValue, errorMetadata: ["limit": String(limit)])
  }

  /// Converts an error of the store. `path` is the path of the entry in a batch (`requests[3].`).
  public init(_ failure: StoreError, at path: String = "") {
    self = failure.rpcError
    guard failure.code == .requestIDReused else { return }
    fieldViolations = [
      .init(field: "\(path)requestId", description: "was used for a different request", reason: reason)
    ]
  }

  /// FAILED_PRECONDITION for a request id that was used for a different request, where no store has the requests.
  public static var requestIDReused: RPCError {
    RPCError(StoreError(.requestIDReused, "the request id was used before for a different request"))
  }

  /// Returns FAILED_PRECONDITION for one field.
  public static func refused(_ field: String, _ description: String, _ reason: Reason) -> RPCError {
    RPCError(
      .failedPrecondition, "\(field): \(description)", reason: reason.rawValue,
      fieldViolations: [.init(field: field, description: description, reason: reason.rawValue)])
  }

  /// Returns the result of `body`, whose `StoreError`s become `RPCError`s.
  public static func convertingStoreErrors<T>(_ body: () throws -> T) throws -> T {
    do { return try body() } catch let failure as StoreError { throw RPCError(failure) }
  }

  /// Returns the result of `body`, whose `StoreError`s become `RPCError`s.
  public static func convertingStoreErrors<T>(_ body: () async throws -> T) async throws -> T {
    do { return try await body() } catch let failure as StoreError { throw RPCError(failure) }
  }

  /// Returns NOT_FOUND for an object that does not exist or belongs to another user; the two are indistinguishable.
  public static func missing(_ kind: String, _ id: String, field: String, _ reason: Reason) -> RPCError {
    // The id comes from the request: echo at most the maximum length of an id.
    let shown = String(id.unicodeScalars.prefix(64))
    return RPCError(
      .notFound, "\(kind) \(shown) does not exist", reason: reason.rawValue, errorMetadata: ["id": shown],
      fieldViolations: [.init(field: field, description: "does not exist", reason: reason.rawValue)])
  }

  /// The error of one entry of a batch, as the response reports it.
  public var batchError: BatchError {
    BatchError(
      code: Int32(code.rawValue), message: message, reason: reason,
      violations: fieldViolations.map { .init(field: $0.field, reason: $0.reason, description: $0.description) })
  }

  /// Returns the same error with `path` before its field names, for an entry of a batch.
  public func inside(_ path: String) -> RPCError {
    guard !path.isEmpty else { return self }
    var inner = self
    inner.fieldViolations = fieldViolations.map {
      .init(field: path + $0.field, description: $0.description, reason: $0.reason)
    }
    return inner
  }
}
