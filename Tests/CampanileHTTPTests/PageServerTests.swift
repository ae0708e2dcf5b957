import CampanileHTTP
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@Suite struct PageServerTests {
  /// A peer that reads only when it is asked to.
  private final class Peer: Sendable {
    let channel: any Channel
    private let counter: Counter

    init(_ port: Int) async throws {
      let counter = Counter()
      self.counter = counter
      channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelOption(.autoRead, value: false)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Reader(counter)) }
        }
        .connect(host: "127.0.0.1", port: port).get()
    }

    var receivedBytes: Int { counter.bytes.withLock { $0 } }

    func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)).get() }
    func readAll() async throws { try await channel.setOption(.autoRead, value: true).get() }

    private final class Counter: Sendable { let bytes = Mutex(0) }

    private final class Reader: ChannelInboundHandler {
      typealias InboundIn = ByteBuffer
      private let counter: Counter
      init(_ counter: Counter) { self.counter = counter }
      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let sizeBytes = unwrapInboundIn(data).readableBytes
        counter.bytes.withLock { $0 += sizeBytes }
      }
    }
  }

  /// Runs `body` with a peer of a server, and with the number of pages of `pageBytes` that the server has made.
  private func withPeer(pageBytes: Int, _ body: (Peer, () -> Int) async throws -> Void) async throws {
    let pages = PageCounter()
    let page = [UInt8](repeating: 0x61, count: pageBytes)
    let server = PageServer(PageLimits()) { _, _ in
      PagePlan { _ in
        pages.made.withLock { $0 += 1 }
        return PageResponse(status: 200, body: page)
      }
    }
    let listener = try await server.listen(host: "127.0.0.1", port: 0, group: MultiThreadedEventLoopGroup.singleton)
    do {
      let peer = try await Peer(listener.port)
      try await body(peer) { pages.made.withLock { $0 } }
      try? await peer.channel.close()
    } catch { Issue.record(error) }
    await listener.drain()
  }

  private final class PageCounter: Sendable { let made = Mutex(0) }

  @Test("pipelined requests wait until the peer has read the responses before them")
  func unreadResponsesAreBounded() async throws {
    let pageBytes = 256 * 1024
    try await withPeer(pageBytes: pageBytes) { peer, made in
      try await peer.send(String(repeating: "GET / HTTP/1.1\r\nHost: a\r\n\r\n", count: 200))
      try await eventually("the first page is made") { made() > 0 }
      try await Task.sleep(for: .milliseconds(300))
      // The kernel's buffers take several pages.
      #expect(made() < 100)
      try await peer.readAll()
      try await eventually("all pages are made and read") { made() == 200 && peer.receivedBytes > 200 * pageBytes }
    }
  }

  @Test("the last response of a connection is complete, even if its peer reads late")
  func lastResponseIsComplete() async throws {
    let pageBytes = 32 << 20
    try await withPeer(pageBytes: pageBytes) { peer, made in
      try await peer.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      try await eventually("the page is made") { made() == 1 }
      // Longer than the time between the end of a response and the close.
      try await Task.sleep(for: .milliseconds(800))
      try await peer.readAll()
      try await peer.channel.closeFuture.get()
      #expect(peer.receivedBytes > pageBytes)
    }
  }

  @Test(
    "a request for another protocol or for the end is the last one", arguments: ["Upgrade: x", "Connection: close"])
  func lastRequestsEndTheConnection(header: String) async throws {
    try await withPeer(pageBytes: 10) { peer, _ in
      try await peer.readAll()
      try await peer.send("GET / HTTP/1.1\r\nHost: a\r\n\(header)\r\n\r\n")
      try await peer.channel.closeFuture.get()
      #expect(peer.receivedBytes > 10)
    }
  }

  @Test("the target of a request is read in origin form and in absolute form")
  func readsTargets() {
    for (uri, path, origin) in [
      ("/a?b=%31&b=c+d", "/a", "/a?b=%31&b=c+d"), ("http://h:1/a?b=1", "/a", "/a?b=1"), ("http://h?b=1", "/", "/?b=1"),
      ("http://h", "/", "/"),
    ] {
      let target = PageTarget(uri)
      #expect(target.path == path && target.origin == origin)
    }
    #expect(PageTarget("/?a=%31&b=%+1&c=%").query == ["a": "1", "b": "%+1", "c": "%"])
  }
}
