import Logging
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import CampanileRPC

/// The limits of a peer without a credential, on an embedded loop whose time the test advances.
@Suite struct StrangerTests {
  /// Records calls, and serves those with a key in their metadata as calls of its principal.
  private struct Keyed: CallDispatcher {
    let seen = ClientLog<Int>()

    func startCall(_ call: ServerCall, method: UnsafeRawBufferPointer, params: UnsafeRawBufferPointer) {
      seen.add(params.count)
      if call.metadata["authorization"] == "Bearer key" { call.servedWithCredential(of: StrangerTests.ada) }
      call.succeed(UnsafeRawBufferPointer(start: nil, count: 0))
      call.handlerEnded()
    }
  }

  private struct KeyAuthenticator: HelloAuthenticator {
    func authenticate(token: String) -> HelloDecision {
      switch token {
      case "key": .principal(StrangerTests.ada)
      case "internal": .trusted
      default: .refused(InternalTokenAuthenticator.wrongToken)
      }
    }
    func authenticate(metadata: Metadata, remoteHost: String) -> HelloDecision? {
      switch metadata["authorization"] {
      case "Bearer key": .principal(StrangerTests.ada)
      case nil: nil
      default: .refused(InternalTokenAuthenticator.wrongToken)
      }
    }
  }

  private static let ada = Principal(kind: .user, id: "ada")
  private let loop = EmbeddedEventLoop()

  private func server(
    waiting: WaitingBytesBudget = .standard(), _ authenticator: (any HelloAuthenticator)? = KeyAuthenticator()
  ) -> (RPCServer, Keyed) {
    var configuration = ServerConfiguration(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    configuration.waitingBytes = waiting
    let dispatcher = Keyed()
    return (RPCServer(configuration, dispatcher: dispatcher, authenticator: authenticator, group: loop), dispatcher)
  }

  private func connect(_ server: RPCServer, from host: String = "192.0.2.1") throws -> EmbeddedChannel {
    let channel = EmbeddedChannel(loop: loop)
    // In the system's format, with the address as the host name.
    channel.remoteAddress = try SocketAddress.makeAddressResolvingHost(host, port: 1000)
    try server.serve(channel)
    try channel.connect(to: SocketAddress(ipAddress: host, port: 1000)).wait()
    return channel
  }

  private func frame(_ text: String) -> ByteBuffer {
    var buffer = ByteBuffer()
    buffer.writeInteger(UInt32(text.utf8.count))
    buffer.writeString(text)
    return buffer
  }

  private func hello(_ token: String) -> ByteBuffer {
    frame(#"{"jsonrpc":"2.0","id":0,"method":"rpc.hello","params":{"token":"\#(token)"}}"#)
  }

  private func call(_ padding: Int = 0, key: String? = nil, keyFirst: Bool = true) -> ByteBuffer {
    let params = #","params":{"payload":"\#(String(repeating: "p", count: padding))"}"#
    let metadata = key.map { #","metadata":{"authorization":"Bearer \#($0)"}"# } ?? ""
    return frame(
      #"{"jsonrpc":"2.0","id":1,"method":"a.B/C"\#(keyFirst ? metadata + params : params + metadata)}"#)
  }

  private func first(_ count: Int, of bytes: inout ByteBuffer) -> ByteBuffer {
    bytes.readSlice(length: min(count, bytes.readableBytes)) ?? ByteBuffer()
  }

  private func output(_ channel: EmbeddedChannel) throws -> String {
    var text = ""
    while let part = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: part) }
    return text
  }

  /// Returns whether the server has closed the connection, after the delay in which its last error can be read.
  private func isEnded(_ channel: EmbeddedChannel) -> Bool {
    loop.advanceTime(by: .milliseconds(60))
    return !channel.isActive
  }

  @Test(arguments: [100_000, 2_000_000]) func longFrameRequiresCredentialInItsHead(padding: Int) throws {
    let (server, dispatcher) = server()
    for (bytes, reason) in [
      (call(padding), "FRAME_NEEDS_CREDENTIAL"), (call(padding, key: "key", keyFirst: false), "FRAME_NEEDS_CREDENTIAL"),
      (call(padding, key: "wrong"), "TOKEN_INVALID"),
    ] {
      let channel = try connect(server)
      var bytes = bytes
      // Refused before the end of the frame has arrived.
      try channel.writeInbound(first(70_000, of: &bytes))
      let text = try output(channel)
      #expect(text.contains(reason) && text.contains("UNAUTHENTICATED"))
      #expect(isEnded(channel))
    }
    #expect(dispatcher.seen.all.isEmpty)
    let channel = try connect(server)
    var bytes = call(padding, key: "key")
    while bytes.readableBytes > 0 { try channel.writeInbound(first(50_000, of: &bytes)) }
    #expect(dispatcher.seen.all == [padding + 14])
    #expect(try output(channel).contains(#""result""#))
    _ = try channel.finish()
  }

  @Test(arguments: ["key", "internal"]) func longFramesNeedNoCredentialAfterHello(token: String) throws {
    let (server, dispatcher) = server()
    let channel = try connect(server)
    var bytes = hello(token)
    var long = call(100_000)
    bytes.writeBuffer(&long)
    try channel.writeInbound(bytes)
    #expect(dispatcher.seen.all == [100_014])
    _ = try channel.finish()
  }

  @Test(arguments: [nil, InternalTokenAuthenticator(token: nil)] as [InternalTokenAuthenticator?])
  func serverWithoutCredentialsTreatsNoPeerAsStrangerAndRefusesTokens(
    authenticator: InternalTokenAuthenticator?
  ) throws {
    let (server, dispatcher) = server(authenticator)
    let (channel, wrong) = (try connect(server), try connect(server))
    try channel.writeInbound(call(1_000_000))
    #expect(dispatcher.seen.all == [1_000_014])
    loop.advanceTime(by: .seconds(55))
    #expect(channel.isActive)
    _ = try channel.finish()

    try wrong.writeInbound(hello("key"))
    #expect(try output(wrong).contains("TOKEN_INVALID"))
    #expect(isEnded(wrong))
  }

  @Test func strangersFrameTimesOutAfterFiveSeconds() throws {
    let (server, _) = server()
    let (stranger, known) = (try connect(server), try connect(server))
    try known.writeInbound(hello("key"))
    for channel in [stranger, known] {
      var bytes = call(1_000)
      try channel.writeInbound(first(500, of: &bytes))
    }
    loop.advanceTime(by: .seconds(4))
    #expect(stranger.isActive)
    loop.advanceTime(by: .seconds(3))
    #expect(try output(stranger).contains("FRAME_TOO_SLOW"))
    #expect(isEnded(stranger) && known.isActive)
    loop.advanceTime(by: .seconds(6))
    #expect(try output(known).contains("FRAME_TOO_SLOW"))
  }

  @Test func unfinishedFramesAreLimitedPerHolderAndProcess() throws {
    let budget = WaitingBytesBudget(totalBytesMax: 1_200_000, holderBytesMax: 300_000)
    let (server, _) = server(waiting: budget)
    var waiting: [EmbeddedChannel] = []
    func holds(_ host: String) throws -> Bool {
      let channel = try connect(server, from: host)
      var bytes = call(64_000)
      try channel.writeInbound(first(60_000, of: &bytes))
      let isRefused = try output(channel).contains("WAITING_BYTES_EXCEEDED")
      #expect(isEnded(channel) == isRefused)
      if !isRefused { waiting.append(channel) }
      return !isRefused
    }
    while try holds("192.0.2.1"), waiting.count < 6 {}
    #expect((1...5).contains(waiting.count))
    #expect(try holds("192.0.2.2"))
    #expect(budget.totalBytes >= waiting.count * 60_000 && budget.holderCount == 2)
    for channel in waiting { _ = try channel.finish(acceptAlreadyClosed: true) }
    #expect(budget.totalBytes == 0 && budget.holderCount == 0)
  }

  @Test func servedFrameLeavesNoReservation() throws {
    let budget = WaitingBytesBudget.standard()
    let (server, dispatcher) = server(waiting: budget)
    let channel = try connect(server)
    var bytes = call(200_000, key: "key")
    try channel.writeInbound(first(150_000, of: &bytes))
    #expect(budget.totalBytes >= 150_000)
    try channel.writeInbound(bytes)
    #expect(dispatcher.seen.all.count == 1 && budget.totalBytes == 0)
    _ = try channel.finish()
  }

  @Test func strangerIsDrainedAfterAMinuteThenClosed() throws {
    let (server, _) = server()
    let (idle, pinging, perCall, known) = (
      try connect(server), try connect(server), try connect(server), try connect(server)
    )
    try known.writeInbound(hello("key"))
    loop.advanceTime(by: .seconds(40))
    try pinging.writeInbound(frame(#"{"jsonrpc":"2.0","id":1,"method":"rpc.ping"}"#))
    try perCall.writeInbound(call(key: "key"))
    loop.advanceTime(by: .seconds(22))
    for channel in [idle, pinging] {
      #expect(try output(channel).contains("rpc.drain"))
      #expect(!channel.isActive)
    }
    #expect(try !output(perCall).contains("rpc.drain"))
    try perCall.writeInbound(frame(#"{"jsonrpc":"2.0","id":"ping","result":{}}"#))
    try known.writeInbound(frame(#"{"jsonrpc":"2.0","id":"ping","result":{}}"#))
    loop.advanceTime(by: .seconds(40))
    #expect(try output(perCall).contains("rpc.drain"))
    #expect(!perCall.isActive && known.isActive)
    #expect(try !output(known).contains("rpc.drain"))
  }

  /// Holds calls until the test completes them.
  private final class Held: CallDispatcher {
    private let calls = Mutex<[ServerCall]>([])

    func startCall(_ call: ServerCall, method: UnsafeRawBufferPointer, params: UnsafeRawBufferPointer) {
      calls.withLock { $0.append(call) }
    }

    func answerAll(sizeBytes: Int) {
      let result = Array(#"{"text":"\#(String(repeating: "x", count: sizeBytes))"}"#.utf8)
      for call in calls.withLock({ $0 }) {
        result.withUnsafeBytes { call.succeed($0) }
        call.handlerEnded()
      }
    }
  }

  @Test(arguments: [("key", 2), ("internal", 4)])
  func queuedLongResultsAreLimitedPerHolder(token: String, resultCount: Int) throws {
    var configuration = ServerConfiguration(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    configuration.unreadBytes = WaitingBytesBudget(totalBytesMax: 1_000_000, holderBytesMax: 250_000)
    let held = Held()
    let server = RPCServer(configuration, dispatcher: held, authenticator: KeyAuthenticator(), group: loop)
    let channels = try (0..<4).map { _ in try connect(server) }
    for channel in channels {
      try channel.writeInbound(hello(token))
      try channel.writeInbound(call())
    }
    held.answerAll(sizeBytes: 100_000)
    loop.run()
    let answers = try channels.map { try output($0) }
    #expect(answers.count { $0.contains("xxx") } == resultCount)
    #expect(answers.count { $0.contains("SLOW_CONSUMER") } == 4 - resultCount)
    // The system has accepted all bytes.
    #expect(configuration.unreadBytes.totalBytes == 0)
    for channel in channels { _ = try channel.finish() }
  }
}
