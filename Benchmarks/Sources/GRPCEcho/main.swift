// The gRPC peer: the same echo with grpc-swift-2 over HTTP/2 and protobuf.
//
// usage: GRPCEcho serve                                prints its port and serves until it is ended
//        GRPCEcho load PORT IN_FLIGHT CALLS SIZE       prints {"callsPerSecond":…,"p50Us":…}
import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2
import GRPCProtobuf
import SwiftProtobuf

let descriptor = MethodDescriptor(fullyQualifiedService: "campanile.benchmarks.v1.EchoService", method: "Echo")

struct EchoService: RegistrableRPCService {
  func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
    router.registerHandler(
      forMethod: descriptor,
      deserializer: ProtobufDeserializer<Campanile_Benchmarks_V1_EchoRequest>(),
      serializer: ProtobufSerializer<Campanile_Benchmarks_V1_EchoResponse>()
    ) { request, _ in
      let single = try await ServerRequest(stream: request)
      let response = Campanile_Benchmarks_V1_EchoResponse.with { $0.payload = single.message.payload }
      return StreamingServerResponse(single: ServerResponse(message: response))
    }
  }
}

func serve() async throws {
  let transport = HTTP2ServerTransport.Posix(
    address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext)
  let server = GRPCServer(transport: transport, services: [EchoService()])
  try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { try await server.serve() }
    let port = try await server.listeningAddress?.ipv4?.port ?? 0
    FileHandle.standardOutput.write(Data("\(port)\n".utf8))
    try await group.waitForAll()
  }
}

func load(port: Int, inFlight: Int, calls: Int, size: Int) async throws {
  let transport = try HTTP2ClientTransport.Posix(
    target: .ipv4(address: "127.0.0.1", port: port), transportSecurity: .plaintext)
  try await withGRPCClient(transport: transport) { client in
    let payload = String(repeating: "x", count: size)
    @Sendable func run(_ count: Int) async throws -> [UInt64] {
      var taken: [UInt64] = []
      taken.reserveCapacity(count)
      for _ in 0..<count {
        let start = DispatchTime.now().uptimeNanoseconds
        let request = Campanile_Benchmarks_V1_EchoRequest.with { $0.payload = payload }
        let same: Bool = try await client.unary(
          request: ClientRequest(message: request), descriptor: descriptor,
          serializer: ProtobufSerializer<Campanile_Benchmarks_V1_EchoRequest>(),
          deserializer: ProtobufDeserializer<Campanile_Benchmarks_V1_EchoResponse>(), options: .defaults
        ) { response in try response.message.payload.utf8.count == size }
        guard same else { throw RPCError(code: .internalError, message: "another payload came back") }
        taken.append(DispatchTime.now().uptimeNanoseconds - start)
      }
      return taken
    }
    _ = try await run(200)
    let start = DispatchTime.now().uptimeNanoseconds
    let each = calls / inFlight
    let all = try await withThrowingTaskGroup(of: [UInt64].self) { group in
      for _ in 0..<inFlight { group.addTask { try await run(each) } }
      return try await group.reduce(into: [UInt64]()) { $0 += $1 }
    }
    let seconds = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
    let sorted = all.sorted()
    let p50 = Double(sorted[sorted.count / 2]) / 1000
    print("{\"callsPerSecond\":\(Double(all.count) / seconds),\"p50Us\":\(p50)}")
  }
}

let arguments = CommandLine.arguments.dropFirst()
switch (arguments.first, arguments.dropFirst().compactMap { Int($0) }) {
case ("serve"?, []): try await serve()
case ("load"?, let numbers) where numbers.count == 4:
  try await load(port: numbers[0], inFlight: numbers[1], calls: numbers[2], size: numbers[3])
default:
  FileHandle.standardError.write(Data("usage: GRPCEcho serve | load PORT IN_FLIGHT CALLS SIZE\n".utf8))
  exit(64)
}
