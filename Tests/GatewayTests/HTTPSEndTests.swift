import CampanileRPC
import Foundation
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Gateway

/// How connections over HTTPS end. The callers are Python's, whose TLS is OpenSSL's.
@Suite(.timeLimit(.minutes(1))) final class HTTPSEndTests: Sendable {
  private static let caller = """
    import socket, ssl, sys
    context = ssl.create_default_context(cafile=sys.argv[2])
    caller = context.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1]))), server_hostname="server.test")
    caller.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: server.test\\r\\n\\r\\n")
    text = b""
    while not text.endswith(b"healthy"):
        text += caller.recv(1024) or sys.exit("no answer")
    if sys.argv[3] == "ragged":
        caller.close()
    elif sys.argv[3] == "clean":
        caller.unwrap().close()
    else:
        while caller.recv(1024):
            pass
        caller.unwrap().close()
    """

  private let connections = Mutex<[any Channel]>([])
  private let asked = Atomic(false)

  @Test(arguments: ["ragged", "clean", "answer"]) func nobodyIsWaitedForInVain(ending: String) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "https-end-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await run(
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
      "-subj", "/CN=server.test", "-addext", "subjectAltName=DNS:server.test", "-keyout", "\(folder)/key.pem",
      "-out", "\(folder)/cert.pem")
    // Longer than the test may take: whoever waits for it is not done in time.
    let tls = try ServerTLSContext(
      ServerTLS(certificateChainFile: "\(folder)/cert.pem", privateKeyFile: "\(folder)/key.pem"),
      shutdownTimeoutMs: 90_000)
    try await withHTTP { harness in
      let listener = try await ServerBootstrap(group: Harness.group)
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        .childChannelInitializer { [self] channel in
          channel.eventLoop.makeCompletedFuture {
            connections.withLock { $0.append(channel) }
            try tls.install(on: channel)
            try harness.face.configure(channel) { [self] _ in
              asked.store(true, ordering: .relaxed)
              return HTTPAnswer(status: 200, contentType: "text/plain", body: Array("healthy".utf8))
            }
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
      let port = listener.localAddress?.port ?? 0
      async let ended: Void = run("python3", "-c", Self.caller, String(port), "\(folder)/cert.pem", ending)
      if ending == "answer" {
        try await eventually("the caller has asked") { asked.load(ordering: .relaxed) }
        // What a server that drains tells its connections.
        for connection in connections.withLock({ $0 }) {
          connection.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
      }
      try await ended
      for connection in connections.withLock({ $0 }) { try await connection.closeFuture.get() }
      try await listener.close()
    }
    #expect(connections.withLock { $0.count } == 1)
  }

  private func run(_ words: String...) async throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    process.standardOutput = FileHandle.nullDevice
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      process.terminationHandler = { _ in done.resume() }
      do { try process.run() } catch { done.resume(throwing: error) }
    }
    try #require(process.terminationStatus == 0)
  }
}
