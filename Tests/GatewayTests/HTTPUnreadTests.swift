import CampanileRPC
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// Accounting for unread responses in the HTTP caller's share of the process's budget.
@Suite struct HTTPUnreadTests {
  private static let mib = 1 << 20

  /// Opens a connection with a small receive buffer that reads nothing.
  private static func idleReader(_ port: Int, receiveBytes: Int32 = 4096) async throws -> any Channel {
    try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelOption(.autoRead, value: false)
      .channelOption(.socketOption(.so_rcvbuf), value: .init(receiveBytes))
      .connect(host: "127.0.0.1", port: port).get()
  }

  /// Pipelines the maximum number of requests. Their responses exceed the socket buffers.
  private static func ask(_ channel: any Channel, key: String) async throws {
    let request = "GET /openapi.json HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer \(key)\r\n\r\n"
    try await channel.writeAndFlush(ByteBuffer(string: String(repeating: request, count: 1_200))).get()
  }

  private func withBudget(
    total: Int, holder: Int, _ body: (HTTPHarness, WaitingBytesBudget) async throws -> Void
  ) async throws {
    let budget = WaitingBytesBudget(totalBytesMax: total, holderBytesMax: holder)
    // No other timeout ends a connection that does not read.
    try await withHTTP({ $0.unreadTimeoutMs = 600_000 }, gateway: { $0.unreadBytesBudget = budget }) {
      try await body($0, budget)
    }
  }

  @Test func unreadResponseCountsForItsPrincipal() async throws {
    try await withBudget(total: 64 * Self.mib, holder: 32 * Self.mib) { http, budget in
      let reader = try await Self.idleReader(http.port)
      try await Self.ask(reader, key: http.secret)
      try await eventually("the queue is counted") { budget.totalBytes > 0 }
      #expect(budget.holderCount == 1 && http.frontend.limiter.openCount == 1)
      try await reader.close()
      try await eventually("the reservation ends with the connection") {
        budget.totalBytes == 0 && budget.holderCount == 0
      }
    }
  }

  @Test func connectionsBeyondTheCallersShareAreClosed() async throws {
    try await withBudget(total: 64 * Self.mib, holder: 8 * 1024) { http, budget in
      var readers: [any Channel] = []
      for _ in 0..<3 { readers.append(try await Self.idleReader(http.port)) }
      try await eventually("all are connected") { http.frontend.limiter.openCount == 3 }
      for reader in readers { try await Self.ask(reader, key: http.secret) }
      try await eventually("the gateway has closed them") {
        http.frontend.limiter.openCount == 0
      }
      #expect(budget.totalBytes == 0)
      // A caller that reads is served.
      #expect(try await http.get("/v1/echo/a").status == 200)
      for reader in readers { try? await reader.close() }
    }
  }

  @Test("pipelined requests wait until the caller reads, and then all get a response")
  func pipelinedRequestsWaitForTheReader() async throws {
    try await withBudget(total: 64 * Self.mib, holder: 64 * Self.mib) { http, budget in
      // Large enough for a busy machine to read in time.
      let reader = try await Self.idleReader(http.port, receiveBytes: 64 * 1024)
      let request = "GET /openapi.json HTTP/1.1\r\nHost: g\r\n\r\n"
      // The maximum number of requests that an unauthenticated caller may pipeline. Their responses exceed the socket
      // buffers.
      let count = 1_200
      let sizeBytes = try await http.get("/openapi.json").body.count
      try await reader.writeAndFlush(ByteBuffer(string: String(repeating: request, count: count))).get()
      try await eventually("unread bytes are counted") { budget.totalBytes > 0 }
      // Without waiting, all responses would be queued. Only one beyond the channel's high watermark is.
      for _ in 0..<20 {
        #expect(budget.totalBytes < Self.mib, "\(sizeBytes)")
        try await Task.sleep(for: .milliseconds(5))
      }
      let receivedBytes = Atomic(0)
      try await reader.pipeline.addHandler(ByteCounter { receivedBytes.add($0, ordering: .relaxed) }).get()
      try await reader.setOption(.autoRead, value: true).get()
      try await eventually("every request has a response") {
        receivedBytes.load(ordering: .relaxed) >= count * sizeBytes
      }
      try await reader.close()
    }
  }

  @Test(arguments: ["text/event-stream", "application/x-ndjson"])
  func aStreamBeyondTheShareEnds(accept: String) async throws {
    try await withBudget(total: 64 * 1024, holder: 32 * 1024) { http, budget in
      let reader = try await Self.idleReader(http.port)
      let payload = String(repeating: "x", count: 4_000)
      let request =
        "GET /v1/echo:expand?count=1000000&payload=\(payload) HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer \(http.secret)\r\n"
        + "Accept: \(accept)\r\n\r\n"
      try await reader.writeAndFlush(ByteBuffer(string: request)).get()
      try await eventually("the stream has begun") { !http.backend.seen.all.isEmpty }
      try await eventually("the gateway has closed the connection") { http.frontend.limiter.openCount == 0 }
      #expect(budget.totalBytes == 0)
      try? await reader.close()
    }
  }
}

/// Reports the number of bytes that arrive.
private final class ByteCounter: ChannelInboundHandler, Sendable {
  typealias InboundIn = ByteBuffer
  private let received: @Sendable (Int) -> Void

  init(_ received: @escaping @Sendable (Int) -> Void) { self.received = received }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { received(unwrapInboundIn(data).readableBytes) }
}
