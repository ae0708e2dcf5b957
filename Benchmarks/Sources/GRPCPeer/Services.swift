import CampanileAPI
import CampanileCodec
import GRPCCore
import GRPCProtobuf
import NotificationsBackend
import SwiftProtobuf

enum Methods {
  static let echo = MethodDescriptor(fullyQualifiedService: "campanile.benchmarks.v1.EchoService", method: "Echo")
  static let expand = MethodDescriptor(fullyQualifiedService: "campanile.benchmarks.v1.EchoService", method: "Expand")
  static let get = notifications("GetNotification")
  static let create = notifications("CreateNotification")

  private static func notifications(_ name: String) -> MethodDescriptor {
    MethodDescriptor(fullyQualifiedService: "campanile.benchmarks.v1.NotificationsService", method: name)
  }
}

/// The echo service: a unary method and a server stream.
struct EchoService: RegistrableRPCService {
  func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
    router.registerHandler(
      forMethod: Methods.echo,
      deserializer: ProtobufDeserializer<Campanile_Benchmarks_V1_EchoRequest>(),
      serializer: ProtobufSerializer<Campanile_Benchmarks_V1_EchoResponse>()
    ) { request, _ in
      let single = try await ServerRequest(stream: request)
      let response = Campanile_Benchmarks_V1_EchoResponse.with { $0.payload = single.message.payload }
      return StreamingServerResponse(single: ServerResponse(message: response))
    }
    router.registerHandler(
      forMethod: Methods.expand,
      deserializer: ProtobufDeserializer<Campanile_Benchmarks_V1_ExpandRequest>(),
      serializer: ProtobufSerializer<Campanile_Benchmarks_V1_ExpandResponse>()
    ) { request, _ in
      let single = try await ServerRequest(stream: request).message
      return StreamingServerResponse { writer in
        var response = Campanile_Benchmarks_V1_ExpandResponse.with { $0.payload = single.payload }
        for index in 0..<single.count {
          response.index = index
          try await writer.write(response)
        }
        return [:]
      }
    }
  }
}

/// Reads and durable writes of notifications.
struct NotificationsService: RegistrableRPCService {
  let backend: NotificationsBackend

  func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
    router.registerHandler(
      forMethod: Methods.get,
      deserializer: ProtobufDeserializer<Campanile_Benchmarks_V1_GetNotificationRequest>(),
      serializer: ProtobufSerializer<Campanile_Benchmarks_V1_GetNotificationResponse>()
    ) { [backend] request, _ in
      let id = try await ServerRequest(stream: request).message.notificationID
      let found = try await backend.notification(id)
      let response = Campanile_Benchmarks_V1_GetNotificationResponse.with {
        $0.notification = Campanile_Notifications_V1_Notification(found)
      }
      return StreamingServerResponse(single: ServerResponse(message: response))
    }
    router.registerHandler(
      forMethod: Methods.create,
      deserializer: ProtobufDeserializer<Campanile_Benchmarks_V1_CreateNotificationRequest>(),
      serializer: ProtobufSerializer<Campanile_Benchmarks_V1_CreateNotificationResponse>()
    ) { [backend] request, _ in
      let draft = try await ServerRequest(stream: request).message.notification
      let created = try await backend.create(Notification(draft))
      let response = Campanile_Benchmarks_V1_CreateNotificationResponse.with {
        $0.notification = Campanile_Notifications_V1_Notification(created)
      }
      return StreamingServerResponse(single: ServerResponse(message: response))
    }
  }
}

extension Notification {
  /// Copies the members that the benchmark sends.
  init(_ message: Campanile_Notifications_V1_Notification) {
    self.init()
    bucketId = message.bucketID
    title = message.title
    if message.hasBody { body = message.body }
    priority = Priority(rawValue: Int32(message.priority.rawValue))
  }
}

extension Campanile_Notifications_V1_Notification {
  /// Copies the members of a notification without attachments and actions.
  init(_ message: Notification) {
    self.init()
    id = message.id
    bucketID = message.bucketId
    title = message.title
    if let text = message.subtitle { subtitle = text }
    if let text = message.body { body = text }
    priority = Priority(rawValue: Int(message.priority.rawValue)) ?? .unspecified
    if let time = message.createTime { createTime = Self.timestamp(time) }
    if let time = message.updateTime { updateTime = Self.timestamp(time) }
    if let time = message.readTime { readTime = Self.timestamp(time) }
    if let time = message.sendTime { sendTime = Self.timestamp(time) }
    etag = message.etag
    deliveryState =
      Campanile_Notifications_V1_DeliveryState(rawValue: Int(message.deliveryState.rawValue)) ?? .unspecified
    sendCount = message.sendCount
  }

  private static func timestamp(_ time: ProtoTimestamp) -> Google_Protobuf_Timestamp {
    Google_Protobuf_Timestamp(seconds: time.seconds, nanos: time.nanos)
  }
}
