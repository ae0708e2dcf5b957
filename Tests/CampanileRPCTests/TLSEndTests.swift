import CampanileBase
import NIOCore
import NIOPosix
import Synchronization
import TLSPeer
import TestSupport
import Testing

@testable import CampanileRPC

/// The end of TLS connections.
@Suite(.timeLimit(.minutes(1))) struct TLSEndTests {
  /// Longer than the test's time limit, so that waiting for it fails the test.
  private static let shutdownTimeout = Duration.seconds(90)

  /// Counts calls.
  private final class Asked: ServerObserver, MethodRecorder {
    let count = Atomic<Int>(0)
    func connectionOpened() {}
    func connectionClosed() {}
    func recorder(for method: MethodDescriptor?) -> any MethodRecorder { self }
    func callStarted(on shard: CounterShard) { count.add(1, ordering: .relaxed) }
    func callFinished(code: RPCError.Code?, durationNs: Int64, on shard: CounterShard) {}
  }
  private let asked = Asked()

  /// Runs a TLS server and a peer that closes as specified by `ending`. Returns once the peer has exited.
  private func withPeer(_ ending: TLSPeer.Ending, _ body: (RPCServer) async throws -> Void) async throws {
    let peer = try await TLSPeer()
    defer { peer.remove() }
    var configuration = ServerConfiguration(port: 0)
    configuration.tls = try ServerTLSContext(
      ServerTLS(certificateChainFile: peer.certificateFile, privateKeyFile: peer.keyFile),
      shutdownTimeout: Self.shutdownTimeout)
    let server = RPCServer(
      configuration, dispatcher: TypedDispatcher(MethodRegistry([]), observer: asked),
      group: MultiThreadedEventLoopGroup.singleton)
    let port = try await server.start().port ?? 0
    let call = Array(#"{"jsonrpc":"2.0","id":1,"method":"p.v1.S/M"}"#.utf8)
    async let ended: Void = peer.ask(
      port: port, [0, 0, 0, UInt8(call.count)] + call, until: "UNIMPLEMENTED", ending: ending)
    try await body(server)
    try await ended
    await server.shutdown()
  }

  @Test(arguments: [TLSPeer.Ending.ragged, .clean]) func closedPeerIsNotWaitedFor(ending: TLSPeer.Ending) async throws {
    try await withPeer(ending) { server in
      try await eventually("the peer has made its call") { asked.count.load(ordering: .relaxed) == 1 }
      try await eventually("the connection is closed") { server.connectionCount == 0 }
    }
  }

  @Test func peerThatRespondsToCloseIsNotWaitedFor() async throws {
    try await withPeer(.answer) { server in
      try await eventually("the peer has made its call") { asked.count.load(ordering: .relaxed) == 1 }
      await server.shutdown()
      try await eventually("the connection is closed") { server.connectionCount == 0 }
    }
  }
}
