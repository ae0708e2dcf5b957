import CampanileBase
import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import CampanileRPC

/// Turns among the connections of one embedded loop, which the test advances.
@Suite struct ReadTurnsTests {
  /// Completes each call at once and records its method.
  private struct Noting: CallDispatcher {
    let seen = ClientLog<String>()

    func startCall(_ call: ServerCall, method: UnsafeRawBufferPointer, params: UnsafeRawBufferPointer) {
      seen.add(String(decoding: method, as: UTF8.self))
      call.succeed(UnsafeRawBufferPointer(start: nil, count: 0))
      call.handlerEnded()
    }
  }

  private let loop = EmbeddedEventLoop()
  private let dispatcher = Noting()
  private let server: RPCServer

  init() {
    var configuration = ServerConfiguration(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    configuration.port = 0
    server = RPCServer(configuration, dispatcher: dispatcher, group: loop)
  }

  private func connection() throws -> EmbeddedChannel {
    let channel = EmbeddedChannel(loop: loop)
    try server.serve(channel)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    return channel
  }

  private func frames(_ method: String, _ count: Int) -> ByteBuffer {
    var buffer = ByteBuffer()
    for id in 1...count {
      let text = #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)"}"#
      buffer.writeInteger(UInt32(text.utf8.count))
      buffer.writeString(text)
    }
    return buffer
  }

  private func answers(_ channel: EmbeddedChannel) throws -> Int {
    var count = 0
    while var part = try channel.readOutbound(as: ByteBuffer.self) {
      while let length = part.readInteger(as: UInt32.self) {
        part.moveReaderIndex(forwardBy: Int(length))
        count += 1
      }
    }
    return count
  }

  private func finish(_ channels: EmbeddedChannel...) throws {
    for channel in channels { _ = try channel.finish(acceptAlreadyClosed: true) }
  }

  @Test func connectionWithManyFramesYieldsToOthers() throws {
    let (quiet, noisy) = (try connection(), try connection())
    try quiet.writeInbound(frames("quiet", 1))
    try noisy.writeInbound(frames("noisy", 50))
    try quiet.writeInbound(frames("quiet", 1))
    let turn = ReadTurns.turnFrames
    #expect(dispatcher.seen.all == ["quiet"] + [String](repeating: "noisy", count: turn) + ["quiet"])
    // Served frames get their responses at once; frames that arrive later wait behind the rest.
    #expect(try answers(noisy) == turn)
    try noisy.writeInbound(frames("late", 1))
    loop.run()
    #expect(dispatcher.seen.all.filter { $0 == "noisy" }.count == 50 && dispatcher.seen.all.last == "late")
    #expect(try answers(noisy) == 51 - turn)
    #expect(try answers(quiet) == 2)
    try finish(quiet, noisy)
  }

  @Test func turnsApplyOnlyWhileAnotherConnectionWaits() throws {
    let (one, other) = (try connection(), try connection())
    try one.writeInbound(frames("one", ReadTurns.shortFramesMax + 1))
    try other.writeInbound(frames("other", 50))
    #expect(try answers(other) == 50)
    // Turns do not apply to a single connection, nor after the remembered time.
    try one.writeInbound(frames("one", 1))
    try one.writeInbound(frames("one", 50))
    #expect(try answers(one) == ReadTurns.shortFramesMax + 52)
    loop.advanceTime(by: .nanoseconds(Int64(ReadTurns.rememberedNs)))
    try other.writeInbound(frames("other", 50))
    #expect(try answers(other) == 50)
    try finish(one, other)
  }

  @Test func framesBeforeEndOfInputAreServed() throws {
    let (quiet, noisy) = (try connection(), try connection())
    try quiet.writeInbound(frames("quiet", 1))
    try noisy.writeInbound(frames("noisy", 50))
    noisy.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    #expect(dispatcher.seen.all.filter { $0 == "noisy" }.count == 50)
    #expect(try answers(noisy) == 50)
    try finish(quiet, noisy)
  }

  @Test func connectionClosedBeforeItsTurnIsNotServed() throws {
    let (quiet, noisy) = (try connection(), try connection())
    try quiet.writeInbound(frames("quiet", 1))
    try noisy.writeInbound(frames("noisy", 50))
    try finish(noisy)
    loop.run()
    #expect(dispatcher.seen.all.count == 1 + ReadTurns.turnFrames)
    try finish(quiet)
  }
}
