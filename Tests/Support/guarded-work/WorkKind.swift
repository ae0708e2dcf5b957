import CampanileAPI
import CampanileCodec
import CampanileJSON

/// The kinds of work whose instructions are counted.
enum WorkKind: String, CaseIterable {
  /// Validates a container of 50 notifications.
  case scan
  /// Decodes one request to create a notification.
  case decode
  /// Encodes the same request.
  case encode
  /// One unary echo through a server on the loopback interface, 16 in flight.
  case dispatch
  /// One unary echo through a gateway.
  case forward
  /// Publishes one notification, which is on disk before the call returns.
  case write
  /// Reads one notification by its identifier.
  case read

  /// Does the work `count` times. Returns a value that depends on all of it.
  func run(_ count: Int) throws -> Int {
    switch self {
    case .scan: try Self.scan(count)
    case .decode: try Self.decode(count)
    case .encode: Self.encode(count)
    case .dispatch: try ServerWork.dispatch(count)
    case .forward: try ServerWork.forward(count)
    case .write: try StoreWork.write(count)
    case .read: try StoreWork.read(count)
    }
  }

  static var request: CreateNotificationRequest {
    let action = Action(type: .navigate, value: "https://example.com/builds/4711", title: "Open")
    let notification = Notification(
      bucketId: "b_0123456789abcdefghijkl", title: "Build failed on main", subtitle: "campanile",
      body: String(repeating: "La riunione è stata spostata alle otto. ", count: 8), priority: .normal,
      actions: [action, action], expireTime: ProtoTimestamp(seconds: 1_900_000_000, nanos: 250_000_000))
    var request = CreateNotificationRequest(notification: notification)
    request.requestId = "a-request"
    return request
  }

  private static func scan(_ count: Int) throws -> Int {
    let text = request.jsonString()
    let container = "{\"notifications\":[" + Array(repeating: text, count: 50).joined(separator: ",") + "]}"
    return try Array(container.utf8).withUnsafeBytes { bytes in
      var depth = 0
      for _ in 0..<count { depth += try JSONValidator.validate(bytes).depth }
      return depth
    }
  }

  private static func decode(_ count: Int) throws -> Int {
    let text = request.jsonUTF8Bytes()
    return try text.withUnsafeBytes { bytes in
      var found = 0
      for _ in 0..<count {
        found += try CreateNotificationRequest(jsonUTF8: bytes).notification?.actions.count ?? 0
      }
      return found
    }
  }

  private static func encode(_ count: Int) -> Int {
    let request = request
    var writer = JSONWriter(capacity: 4096)
    var written = 0
    for _ in 0..<count {
      writer.removeAll()
      request.encode(to: &writer)
      written += writer.count
    }
    return written
  }
}
