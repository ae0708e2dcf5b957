/// The failure of a call: a gRPC status code, a message for people, and details for programs.
///
/// Every error has a stable `reason` (UPPER_SNAKE, as google.rpc.ErrorInfo requires). `processed` states whether a
/// handler may have run: `false` guarantees that none did, so that the call may safely be sent again.
public struct RPCError: Error, Sendable, Hashable {
  public var code: Code
  public var message: String
  /// The stable reason in UPPER_SNAKE, for example `NOTIFICATION_NOT_FOUND`; at most 63 characters.
  public var reason: String
  /// Details of the reason, for example `["id": "n1"]`; becomes google.rpc.ErrorInfo.metadata.
  public var errorMetadata: [String: String]
  /// The invalid fields; becomes google.rpc.BadRequest.
  public var fieldViolations: [FieldViolation]
  /// The delay before a retry, rounded up to milliseconds; becomes google.rpc.RetryInfo. `nil` if unspecified.
  public var retryAfter: Duration? {
    get { retryAfterMs.map { .milliseconds($0) } }
    set { retryAfterMs = newValue?.wholeMilliseconds }
  }
  /// `retryAfter` in milliseconds.
  package var retryAfterMs: Int64?
  /// `false` only if no handler ran.
  public var processed: Bool
  /// The failure for which JSON-RPC reserves a code, if any.
  public var protocolFailure: ProtocolFailure?

  public init(
    _ code: Code, _ message: String, reason: String? = nil, errorMetadata: [String: String] = [:],
    fieldViolations: [FieldViolation] = [], retryAfter: Duration? = nil, processed: Bool = true,
    protocolFailure: ProtocolFailure? = nil
  ) {
    self.init(
      code, message, reason: reason, errorMetadata: errorMetadata, fieldViolations: fieldViolations,
      retryAfterMs: retryAfter?.wholeMilliseconds, processed: processed, protocolFailure: protocolFailure)
  }

  /// Creates an error with a delay in milliseconds.
  package init(
    _ code: Code, _ message: String, reason: String? = nil, errorMetadata: [String: String] = [:],
    fieldViolations: [FieldViolation] = [], retryAfterMs: Int64?, processed: Bool = true,
    protocolFailure: ProtocolFailure? = nil
  ) {
    self.code = code
    self.message = message
    self.reason = reason ?? code.name
    self.errorMetadata = errorMetadata
    self.fieldViolations = fieldViolations
    self.retryAfterMs = retryAfterMs
    self.processed = processed
    self.protocolFailure = protocolFailure
  }

  /// Creates an INVALID_ARGUMENT error about one field of the request.
  public static func invalidField(_ field: String, _ description: String, reason: String = "FIELD_INVALID") -> RPCError
  {
    RPCError(
      .invalidArgument, "\(field): \(description)", reason: reason,
      fieldViolations: [FieldViolation(field: field, description: description, reason: reason)])
  }

  /// The value of the `code` member: the gRPC number, except where JSON-RPC 2.0 section 5.1 reserves a code.
  public var wireCode: Int {
    switch protocolFailure {
    case .parse: -32700
    case .invalidEnvelope: -32600
    case .unknownMethod: -32601
    case .invalidParams: -32602
    case nil: code.rawValue
    }
  }
}

extension RPCError {
  /// A gRPC status code other than OK; there are sixteen.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The gRPC number, 1 to 16.
    public let rawValue: Int
    private init(number: Int) { rawValue = number }

    /// Creates a code; `nil` for numbers that are not between 1 and 16.
    public init?(rawValue: Int) {
      guard (1...16).contains(rawValue) else { return nil }
      self.rawValue = rawValue
    }

    /// Creates a code by its gRPC name; `nil` for unknown names.
    public init?(name: String) {
      guard let index = Self.names.firstIndex(of: name) else { return nil }
      rawValue = index + 1
    }

    public static let cancelled = Code(number: 1)
    public static let unknown = Code(number: 2)
    public static let invalidArgument = Code(number: 3)
    public static let deadlineExceeded = Code(number: 4)
    public static let notFound = Code(number: 5)
    public static let alreadyExists = Code(number: 6)
    public static let permissionDenied = Code(number: 7)
    public static let resourceExhausted = Code(number: 8)
    public static let failedPrecondition = Code(number: 9)
    public static let aborted = Code(number: 10)
    public static let outOfRange = Code(number: 11)
    public static let unimplemented = Code(number: 12)
    public static let internalError = Code(number: 13)
    public static let unavailable = Code(number: 14)
    public static let dataLoss = Code(number: 15)
    public static let unauthenticated = Code(number: 16)

    /// The gRPC name, for example `NOT_FOUND`.
    public var name: String { Self.names[rawValue - 1] }
    public var description: String { name }

    private static let names = [
      "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
      "PERMISSION_DENIED",
      "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL",
      "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED",
    ]
  }

  /// One invalid field, corresponding to google.rpc.BadRequest.FieldViolation.
  public struct FieldViolation: Sendable, Hashable {
    /// The path in the request with the names of its JSON, in lowerCamelCase: `notification.actions[2].tapUrl`.
    public var field: String
    public var description: String
    public var reason: String

    public init(field: String, description: String, reason: String = "") {
      self.field = field
      self.description = description
      self.reason = reason
    }
  }

  /// The failures for which JSON-RPC 2.0 reserves a code.
  public enum ProtocolFailure: Sendable, Hashable {
    case parse, invalidEnvelope, unknownMethod, invalidParams
  }
}

extension RPCError: CustomStringConvertible {
  public var description: String { "\(code.name) (\(reason)): \(message)" }
}

/// An error that has a form on the wire.
public protocol RPCErrorConvertible: Error {
  var rpcError: RPCError { get }
}
