import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A server that runs a test's script for each frame. It implements nothing of the wire protocol but the frame lengths.
///
/// It responds to `rpc.hello` itself unless `answersHello` is false.
final class ClientFakeServer: Sendable {
  typealias Script = @Sendable (Peer, _ frame: String, _ id: Int?) -> Void

  /// One accepted connection. Used on its event loop.
  final class Peer: Sendable {
    let channel: any Channel
    /// The number of earlier connections; 0 for the first.
    let index: Int
    private let received = Mutex(0)

    init(_ channel: any Channel, index: Int) {
      self.channel = channel
      self.index = index
    }

    /// The number of received frames except `rpc.hello`.
    var receivedCount: Int { received.withLock { $0 } }
    func count() { received.withLock { $0 += 1 } }

    func send(_ json: String) {
      var buffer = ByteBuffer()
      buffer.writeInteger(UInt32(json.utf8.count))
      buffer.writeString(json)
      channel.writeAndFlush(buffer, promise: nil)
    }
    func sendRaw(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }
    func result(_ id: Int?, _ result: String = "{}") {
      send("{\"jsonrpc\":\"2.0\",\"id\":\(id ?? -1),\"result\":\(result)}")
    }
    func error(_ id: Int?, status: String, code: Int, processed: Bool) {
      send(
        "{\"jsonrpc\":\"2.0\",\"id\":\(id ?? -1),\"error\":{\"code\":\(code),\"message\":\"no\",\"data\":"
          + "{\"status\":\"\(status)\",\"processed\":\(processed)}}}")
    }
    func message(_ id: Int?, _ message: String) {
      send(
        "{\"jsonrpc\":\"2.0\",\"method\":\"rpc.message\",\"params\":{\"id\":\(id ?? -1),\"message\":\(message)}}")
    }
    func close() { channel.close(promise: nil) }
    /// Stops reading, like a suspended process.
    func freeze() { channel.setOption(.autoRead, value: false).whenFailure { _ in } }
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let server: ClientFakeServer
    private let peer: Peer
    private var rest = ByteBuffer()

    init(_ server: ClientFakeServer, _ peer: Peer) {
      self.server = server
      self.peer = peer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      rest.writeImmutableBuffer(unwrapInboundIn(data))
      while let length = rest.getInteger(at: rest.readerIndex, as: UInt32.self),
        rest.readableBytes >= 4 + Int(length)
      {
        rest.moveReaderIndex(forwardBy: 4)
        guard let text = rest.readString(length: Int(length)) else { return }
        server.received(peer, text)
      }
    }
  }

  let port: Int
  private let listener: any Channel
  private let answersHello: Bool
  /// Additional members of the response to `rpc.hello`, each after a comma.
  private let helloMembers: String
  private let script: Script
  private let peers: Mutex<[Peer]>

  init(
    answersHello: Bool = true, helloMembers: String = "", port: Int = 0,
    group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
    _ script: @escaping Script
  ) async throws {
    self.answersHello = answersHello
    self.helloMembers = helloMembers
    self.script = script
    let box = Mutex<ClientFakeServer?>(nil)
    let shared = Box(box: box)
    peers = Mutex([])
    listener = try await ServerBootstrap(group: group)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          guard let server = shared.server else { throw ChannelError.ioOnClosedChannel }
          let peer = server.peers.withLock { peers in
            let peer = Peer(channel, index: peers.count)
            peers.append(peer)
            return peer
          }
          try channel.pipeline.syncOperations.addHandler(Handler(server, peer))
        }
      }
      .bind(host: "127.0.0.1", port: port).get()
    self.port = listener.localAddress?.port ?? 0
    shared.set(self)
  }

  /// Gives the listener, which is created first, access to the server.
  private final class Box: Sendable {
    private let box: Mutex<ClientFakeServer?>
    init(box: consuming Mutex<ClientFakeServer?>) { self.box = box }
    var server: ClientFakeServer? { box.withLock { $0 } }
    func set(_ server: ClientFakeServer) { box.withLock { $0 = server } }
  }

  var connectionCount: Int { peers.withLock { $0.count } }

  private func received(_ peer: Peer, _ frame: String) {
    if frame.contains("\"rpc.hello\"") {
      guard answersHello else { return }
      return peer.send(
        "{\"jsonrpc\":\"2.0\",\"id\":\"hello\",\"result\":{\"version\":\"1\",\"agent\":\"fake\",\"maxFrameBytes\":65536,"
          + "\"maxConcurrentCalls\":100\(helloMembers)}}")
    }
    peer.count()
    let id = frame.range(of: "\"id\":").flatMap { Int(frame[$0.upperBound...].prefix { $0.isNumber }) }
    script(peer, frame, id)
  }

  func stop() async {
    try? await listener.close()
    for peer in peers.withLock({ $0 }) { try? await peer.channel.close() }
  }
}

/// Returns a script that closes the connection at the first attempt, and refuses all others as not processed.
func losingTheFirst(_ attempts: ClientLog<Int>) -> ClientFakeServer.Script {
  { peer, _, id in
    attempts.add(id ?? 0)
    if attempts.all.count == 1 {
      peer.close()
    } else {
      peer.error(id, status: "UNAVAILABLE", code: 14, processed: false)
    }
  }
}

/// Values that a test collects from callbacks.
final class ClientLog<Entry: Sendable>: Sendable {
  private let entries = Mutex<[Entry]>([])
  func add(_ entry: Entry) { entries.withLock { $0.append(entry) } }
  var all: [Entry] { entries.withLock { $0 } }

  /// Waits for `count` entries, at most until the time limit of the test.
  func wait(for count: Int) async throws {
    while all.count < count { try await Task.sleep(for: .milliseconds(2)) }
  }
}
