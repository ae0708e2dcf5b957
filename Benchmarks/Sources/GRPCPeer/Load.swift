import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2
import GRPCProtobuf
import SwiftProtobuf

/// Calls one method with the client of grpc-swift-2, over one connection.
struct Load {
  enum Call {
    /// A payload of this many characters.
    case echo(Int)
    /// A stream of this many messages of 100 characters.
    case expand(Int32)
    case get(String)
    /// Creates a notification in this bucket.
    case create(String)
  }

  var port: Int
  var call: Call
  var inFlight: Int
  var calls: Int

  /// Prints the calls per second.
  func run() async throws {
    let transport = try HTTP2ClientTransport.Posix(
      target: .ipv4(address: "127.0.0.1", port: port), transportSecurity: .plaintext)
    try await withGRPCClient(transport: transport) { client in
      try await run(client, max(1, min(200, calls / 10)))
      let start = ContinuousClock.now
      let each = max(1, calls / inFlight)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<inFlight { group.addTask { try await run(client, each) } }
        try await group.waitForAll()
      }
      print(Double(each * inFlight) / ((ContinuousClock.now - start) / .seconds(1)))
    }
  }

  private func run<Transport: ClientTransport>(_ client: GRPCClient<Transport>, _ count: Int) async throws {
    for _ in 0..<count {
      guard try await once(client) else { throw RPCError(code: .internalError, message: "unexpected response") }
    }
  }

  /// Makes one call. Returns whether the response was the expected one.
  private func once<Transport: ClientTransport>(_ client: GRPCClient<Transport>) async throws -> Bool {
    switch call {
    case .echo(let size):
      return try await client.unary(
        request: ClientRequest(message: Self.echo(size)), descriptor: Methods.echo, serializer: ProtobufSerializer(),
        deserializer: ProtobufDeserializer<Campanile_Benchmarks_V1_EchoResponse>(), options: .defaults
      ) { response in try response.message.payload.utf8.count == size }
    case .expand(let count):
      return try await client.serverStreaming(
        request: ClientRequest(message: Self.expand(count)), descriptor: Methods.expand,
        serializer: ProtobufSerializer(),
        deserializer: ProtobufDeserializer<Campanile_Benchmarks_V1_ExpandResponse>(), options: .defaults
      ) { response in
        var seen: Int32 = 0
        for try await message in response.messages where message.index == seen { seen += 1 }
        return seen == count
      }
    case .get(let id):
      let request = Campanile_Benchmarks_V1_GetNotificationRequest.with { $0.notificationID = id }
      return try await client.unary(
        request: ClientRequest(message: request), descriptor: Methods.get, serializer: ProtobufSerializer(),
        deserializer: ProtobufDeserializer<Campanile_Benchmarks_V1_GetNotificationResponse>(), options: .defaults
      ) { response in try response.message.notification.id == id }
    case .create(let bucket):
      return try await client.unary(
        request: ClientRequest(message: Self.draft(bucket)), descriptor: Methods.create,
        serializer: ProtobufSerializer(),
        deserializer: ProtobufDeserializer<Campanile_Benchmarks_V1_CreateNotificationResponse>(), options: .defaults
      ) { response in try !response.message.notification.id.isEmpty }
    }
  }

  fileprivate static func echo(_ size: Int) -> Campanile_Benchmarks_V1_EchoRequest {
    .with { $0.payload = String(repeating: "x", count: size) }
  }

  fileprivate static func expand(_ count: Int32) -> Campanile_Benchmarks_V1_ExpandRequest {
    .with {
      $0.payload = String(repeating: "x", count: 100)
      $0.count = count
    }
  }

  fileprivate static func draft(_ bucket: String) -> Campanile_Benchmarks_V1_CreateNotificationRequest {
    .with {
      $0.notification.bucketID = bucket
      $0.notification.title = "A notification"
      $0.notification.body = String(repeating: "x", count: 200)
      $0.notification.priority = .normal
    }
  }
}

extension Load.Call {
  init?(_ name: String, _ argument: String) {
    switch (name, Int32(argument)) {
    case ("echo", let size?): self = .echo(Int(size))
    case ("expand", let count?): self = .expand(count)
    case ("get", _): self = .get(argument)
    case ("create", _): self = .create(argument)
    default: return nil
    }
  }

  /// Returns the request as a gRPC message with its prefix of five bytes, for load generators that send raw bytes.
  func body() throws -> [UInt8] {
    let message: [UInt8]
    switch self {
    case .echo(let size): message = try Load.echo(size).serializedBytes()
    case .expand(let count): message = try Load.expand(count).serializedBytes()
    case .get(let id):
      message = try Campanile_Benchmarks_V1_GetNotificationRequest.with { $0.notificationID = id }.serializedBytes()
    case .create(let bucket): message = try Load.draft(bucket).serializedBytes()
    }
    return [0] + withUnsafeBytes(of: UInt32(message.count).bigEndian, Array.init) + message
  }
}
