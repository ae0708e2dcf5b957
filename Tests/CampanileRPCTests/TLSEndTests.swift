import Foundation
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import CampanileRPC

/// How connections with TLS end. The peers are Python's, whose TLS is OpenSSL's.
@Suite(.timeLimit(.minutes(1))) struct TLSEndTests {
  /// Longer than the test may take: whoever waits for it is not done in time.
  private static let shutdownTimeoutMs: Int64 = 90_000

  /// Connects, makes a call, and ends as it is told.
  private static let peer = """
    import socket, ssl, struct, sys
    context = ssl.create_default_context(cafile=sys.argv[2])
    peer = context.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1]))), server_hostname="server.test")
    call = b'{"jsonrpc":"2.0","id":1,"method":"p.v1.S/M"}'
    peer.sendall(struct.pack(">I", len(call)) + call)
    text = b""
    while b"UNIMPLEMENTED" not in text:
        text += peer.recv(4096) or sys.exit("no answer")
    if sys.argv[3] == "ragged":
        peer.close()
    elif sys.argv[3] == "clean":
        peer.unwrap().close()
    else:
        while peer.recv(1024):
            pass
        peer.unwrap().close()
    """

  /// Counts the calls.
  private final class Asked: ServerObserver, MethodRecorder {
    let count = Atomic<Int>(0)
    func connectionOpened() {}
    func connectionClosed() {}
    func recorder(for method: MethodDescriptor?) -> any MethodRecorder { self }
    func callStarted(on lane: LoopLane) { count.add(1, ordering: .relaxed) }
    func callFinished(code: RPCError.Code?, durationNs: Int64, on lane: LoopLane) {}
  }
  private let asked = Asked()

  /// A server with TLS, and a peer that ends as `ending` says. Returns when the peer has gone.
  private func withPeer(_ ending: String, _ body: (RPCServer) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "tls-end-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await run(
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
      "-subj", "/CN=server.test", "-addext", "subjectAltName=DNS:server.test", "-keyout", "\(folder)/key.pem",
      "-out", "\(folder)/cert.pem")
    var configuration = ServerConfiguration(port: 0)
    configuration.tls = try ServerTLSContext(
      ServerTLS(certificateChainFile: "\(folder)/cert.pem", privateKeyFile: "\(folder)/key.pem"),
      shutdownTimeoutMs: Self.shutdownTimeoutMs)
    let server = RPCServer(
      configuration, dispatcher: TypedDispatcher(MethodRegistry([]), observer: asked),
      group: MultiThreadedEventLoopGroup.singleton)
    let port = try await server.start().port ?? 0
    async let ended: Void = run("python3", "-c", Self.peer, String(port), "\(folder)/cert.pem", ending)
    try await body(server)
    try await ended
    await server.shutdown()
  }

  private func run(_ words: String...) async throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      process.terminationHandler = { _ in done.resume() }
      do { try process.run() } catch { done.resume(throwing: error) }
    }
    try #require(process.terminationStatus == 0)
  }

  private func eventually(_ what: Comment, _ condition: () -> Bool) async throws {
    for _ in 0..<3_000 where !condition() { try await Task.sleep(for: .milliseconds(10)) }
    #expect(condition(), what)
  }

  @Test(arguments: ["ragged", "clean"]) func whoHasEndedIsNotWaitedFor(ending: String) async throws {
    try await withPeer(ending) { server in
      try await eventually("the peer has been here") { asked.count.load(ordering: .relaxed) == 1 }
      try await eventually("its connection is gone") { server.connectionCount == 0 }
    }
  }

  @Test func whoAnswersACloseIsNotWaitedForEither() async throws {
    try await withPeer("answer") { server in
      try await eventually("the peer is here") { asked.count.load(ordering: .relaxed) == 1 }
      await server.shutdown()
      try await eventually("its connection is gone") { server.connectionCount == 0 }
    }
  }
}
