// The gRPC peer: grpc-swift-2 over HTTP/2 with protobuf, on one event loop.
//
// usage: GRPCPeer serve                                      prints its port and serves the echo until it is stopped
//        GRPCPeer serve FOLDER                               also serves notifications; prints port, bucket and id
//        GRPCPeer load PORT METHOD ARGUMENT IN_FLIGHT CALLS  prints the calls per second
//        GRPCPeer body METHOD ARGUMENT                       writes the request in gRPC framing, for other generators
// METHOD and ARGUMENT: echo SIZE, expand MESSAGES, get NOTIFICATION, create BUCKET.
import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2
import NIOPosix
import NotificationsBackend

func serve(_ folder: String?) async throws {
  let transport = HTTP2ServerTransport.Posix(
    address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext, config: .defaults,
    eventLoopGroup: MultiThreadedEventLoopGroup(numberOfThreads: 1))
  var services: [any RegistrableRPCService] = [EchoService()]
  var backend: NotificationsBackend?
  if let folder {
    let one = try await NotificationsBackend(directory: folder)
    services.append(NotificationsService(backend: one))
    backend = one
  }
  let server = GRPCServer(transport: transport, services: services)
  try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { try await server.serve() }
    let port = try await server.listeningAddress?.ipv4?.port ?? 0
    var line = "\(port)"
    if let backend {
      line += " \(backend.bucketID) \(backend.notificationID)"
      group.addTask { try await backend.index() }
    }
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    try await group.waitForAll()
  }
}

let arguments = Array(CommandLine.arguments.dropFirst())
switch (arguments.first, arguments.count) {
case ("serve"?, 1...2): try await serve(arguments.dropFirst().first)
case ("load"?, 6):
  guard let port = Int(arguments[1]), let call = Load.Call(arguments[2], arguments[3]),
    let inFlight = Int(arguments[4]), let calls = Int(arguments[5])
  else { exit(64) }
  try await Load(port: port, call: call, inFlight: inFlight, calls: calls).run()
case ("body"?, 3):
  guard let call = Load.Call(arguments[1], arguments[2]) else { exit(64) }
  FileHandle.standardOutput.write(Data(try call.body()))
default:
  FileHandle.standardError.write(
    Data("usage: GRPCPeer serve [FOLDER] | load PORT METHOD ARGUMENT IN_FLIGHT CALLS | body METHOD ARGUMENT\n".utf8))
  exit(64)
}
