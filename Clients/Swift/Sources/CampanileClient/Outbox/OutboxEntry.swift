public import CampanileBase
public import CampanileCall
public import CampanileCodec

/// A call that waits to be sent.
public struct OutboxEntry: Sendable, Hashable, Identifiable {
  /// The position in the outbox. Later entries have higher ids.
  public let id: UInt64
  /// The object that the call changes, as the app names it. Calls of one object are sent one after the other.
  public let object: String
  /// The full method name, for example `campanile.notifications.v1.NotificationsService/CreateNotification`.
  public let method: String
  /// The request in ProtoJSON, with its request id.
  public let request: [UInt8]
  /// The id by which the service recognizes a repetition; empty for a method that may run twice.
  public let requestID: String
  /// The time of creation in milliseconds since 1970.
  public let createdMs: Int64

  /// Returns the request; `nil` if the entry calls another method.
  public func request<Q: ProtoMessage>(of method: MethodDescriptor, as type: Q.Type = Q.self) -> Q? {
    method.path == self.method ? try? Q(jsonUTF8: request) : nil
  }

  /// The bytes that the entry takes in the limits of the outbox.
  var sizeBytes: Int { object.utf8.count + method.utf8.count + requestID.utf8.count + request.count + 64 }

  /// The descriptor of a call that may be repeated.
  var descriptor: MethodDescriptor {
    MethodDescriptor(path: method, kind: .unary, idempotency: .idempotent, requestType: "", responseType: "")
  }
}

/// An entry that the server refused for good.
public struct OutboxRefusal: Sendable, Hashable, Identifiable {
  public let entry: OutboxEntry
  /// The server's error, with its reason and the invalid fields.
  public let error: RPCError

  public var id: UInt64 { entry.id }
  var sizeBytes: Int { entry.sizeBytes + error.message.utf8.count + 256 }
}

/// The limits of an outbox.
public struct OutboxLimits: Sendable, Hashable {
  /// The maximum number of entries and refusals together.
  public var entriesMax = 10_000
  /// The maximum size of entries and refusals together.
  public var sizeBytesMax = 8 * 1024 * 1024
  /// The maximum number of objects whose calls are sent concurrently.
  public var concurrentMax = 4
  /// The number of failures with INTERNAL, UNKNOWN or DATA_LOSS after which an entry counts as refused.
  public var faultsMax = 10

  public init() {}
}
