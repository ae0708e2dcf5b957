/// The static description of a method, generated from its proto.
public struct MethodDescriptor: Sendable, Hashable {
  /// The full method name, for example `campanile.notifications.v1.NotificationsService/GetNotification`.
  public var path: String
  public var kind: CallKind
  public var idempotency: Idempotency
  /// The full proto names of the request and the response.
  public var requestType: String
  public var responseType: String
  /// The `google.api.http` rules, the main one first.
  public var httpRules: [HTTPRule]
  /// The access that a gateway requires (`campanile.rpc.v1.access`): the narrowest scope, `public`, or empty if
  /// unspecified.
  public var scope: String
  /// Whether the call may be deferred: an overloaded gateway refuses such calls first.
  public var isBulk: Bool
  /// Whether the response contains a secret that is shown once and must not be stored.
  public var hasSecretResponse: Bool
  /// Whether the request has a string field `request_id`, by which the service recognizes a repeat (AIP-155).
  public var hasRequestID: Bool

  public init(
    path: String, kind: CallKind, idempotency: Idempotency, requestType: String, responseType: String,
    httpRules: [HTTPRule] = [], scope: String = "", isBulk: Bool = false, hasSecretResponse: Bool = false
  ) {
    self.init(
      path: path, kind: kind, idempotency: idempotency, requestType: requestType, responseType: responseType,
      httpRules: httpRules, scope: scope, isBulk: isBulk, hasSecretResponse: hasSecretResponse, hasRequestID: false)
  }

  public init(
    path: String, kind: CallKind, idempotency: Idempotency, requestType: String, responseType: String,
    httpRules: [HTTPRule] = [], scope: String = "", isBulk: Bool = false, hasSecretResponse: Bool = false,
    hasRequestID: Bool
  ) {
    self.path = path
    self.kind = kind
    self.idempotency = idempotency
    self.requestType = requestType
    self.responseType = responseType
    self.httpRules = httpRules
    self.scope = scope
    self.isBulk = isBulk
    self.hasSecretResponse = hasSecretResponse
    self.hasRequestID = hasRequestID
  }

  /// The part of the path before the slash.
  public var service: String { String(path.prefix { $0 != "/" }) }
  /// The part of the path after the slash.
  public var name: String { String(path.drop { $0 != "/" }.dropFirst()) }
}

/// The sides of a call that send a stream of messages.
public enum CallKind: Sendable, Hashable, CaseIterable {
  case unary, clientStreaming, serverStreaming, bidirectional

  /// Whether the caller sends `rpc.message` frames.
  @inlinable public var streamsRequests: Bool { self == .clientStreaming || self == .bidirectional }
  /// Whether the server sends `rpc.message` frames.
  @inlinable public var streamsResponses: Bool { self == .serverStreaming || self == .bidirectional }
}

/// The `idempotency_level` of a method, from descriptor.proto.
public enum Idempotency: Sendable, Hashable {
  /// No guarantee: a client never repeats a call that may have run.
  case unknown
  /// The method only reads.
  case noSideEffects
  /// Running the method twice has the same effect as running it once.
  case idempotent

  /// Whether a client may repeat a call that may have run.
  @inlinable public var allowsRetry: Bool { self != .unknown }
}

/// One `google.api.http` binding (https://google.aip.dev/127).
public struct HTTPRule: Sendable, Hashable {
  /// The HTTP method in upper case, for example `GET`.
  public var verb: String
  /// The path template, for example `/notifications/v1/buckets/{bucket_id}`.
  public var template: String
  /// The field in the body, `*` for the whole message, or empty for no body.
  public var body: String

  public init(verb: String, template: String, body: String) {
    self.verb = verb
    self.template = template
    self.body = body
  }
}
