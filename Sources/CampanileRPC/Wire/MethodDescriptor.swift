/// What is known of a method before it is called: generated from its proto.
public struct MethodDescriptor: Sendable, Hashable {
  /// The full name with a slash, for example `campanile.notifications.v1.NotificationsService/GetNotification`.
  public var path: String
  public var kind: CallKind
  public var idempotency: Idempotency
  /// The full proto names of both messages.
  public var requestType: String
  public var responseType: String
  /// `google.api.http` rules, the main one first.
  public var httpRules: [HTTPRule]
  /// What a gateway asks of the caller (`campanile.rpc.v1.access`): the narrowest scope, `public`, or empty where nothing is said.
  public var scope: String
  /// Whether the call may wait: under overload a gateway refuses such calls first.
  public var isBulk: Bool

  public init(
    path: String, kind: CallKind, idempotency: Idempotency, requestType: String, responseType: String,
    httpRules: [HTTPRule] = [], scope: String = "", isBulk: Bool = false
  ) {
    self.path = path
    self.kind = kind
    self.idempotency = idempotency
    self.requestType = requestType
    self.responseType = responseType
    self.httpRules = httpRules
    self.scope = scope
    self.isBulk = isBulk
  }

  /// The part before the slash.
  public var service: String { String(path.prefix { $0 != "/" }) }
  /// The part after the slash.
  public var name: String { String(path.drop { $0 != "/" }.dropFirst()) }
}

/// Which sides of a call send more than one message.
public enum CallKind: Sendable, Hashable, CaseIterable {
  case unary, clientStreaming, serverStreaming, bidirectional

  /// Whether the caller sends `rpc.message` frames.
  public var streamsRequests: Bool { self == .clientStreaming || self == .bidirectional }
  /// Whether the server sends `rpc.message` frames.
  public var streamsResponses: Bool { self == .serverStreaming || self == .bidirectional }
}

/// The `idempotency_level` of a method, from descriptor.proto.
public enum Idempotency: Sendable, Hashable {
  /// Nothing is promised: a call that may have run is never repeated by a client on its own.
  case unknown
  /// The method reads only.
  case noSideEffects
  /// Running it twice leaves what running it once does.
  case idempotent

  /// Whether a client may repeat a call that may have run.
  public var allowsRepeat: Bool { self != .unknown }
}

/// One `google.api.http` binding (https://google.aip.dev/127).
public struct HTTPRule: Sendable, Hashable {
  /// Upper case, for example `GET`.
  public var verb: String
  /// For example `/v1/buckets/{bucket_id}`.
  public var template: String
  /// The field that the body is, `*` for the whole message, or empty for no body.
  public var body: String

  public init(verb: String, template: String, body: String) {
    self.verb = verb
    self.template = template
    self.body = body
  }
}
