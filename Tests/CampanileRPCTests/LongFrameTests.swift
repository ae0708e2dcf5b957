import CampanileBase
import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import CampanileRPC

/// Long frames of callers with a credential, whose heads are checked before the rest is buffered.
@Suite struct LongFrameTests {
  private static let ada = Principal(kind: .user, id: "ada")
  private static let missing = RPCError(.permissionDenied, "no", reason: "SCOPE_MISSING", processed: false)

  private final class Noted: Sendable {}

  /// Refuses every method except `a.B/Read`, and records the lengths of all params.
  private struct Reading: CallDispatcher {
    let started = ClientLog<Int>()
    let judged = ClientLog<String>()

    func startCall(_ call: ServerCall, method: UnsafeRawBufferPointer, params: UnsafeRawBufferPointer) {
      started.add(params.count)
      if String(decoding: method, as: UTF8.self) == "a.B/Read" {
        call.succeed(UnsafeRawBufferPointer(start: nil, count: 0))
      } else {
        call.fail(LongFrameTests.missing)
      }
      call.handlerEnded()
    }

    func refuses(_ call: ServerCall, method: UnsafeRawBufferPointer) -> Bool {
      let name = String(decoding: method, as: UTF8.self)
      judged.add(name)
      guard name != "a.B/Read" else { return false }
      call.admission = Noted()
      return true
    }
  }

  private struct KeyAuthenticator: HelloAuthenticator {
    func authenticate(token: String) -> HelloDecision {
      token == "internal" ? .trusted : .credential(LongFrameTests.ada, Noted())
    }
    func authenticate(metadata: Metadata, remoteHost: String) -> HelloDecision? {
      metadata["authorization"] == nil ? nil : .credential(LongFrameTests.ada, Noted())
    }
  }

  private let loop = EmbeddedEventLoop()
  private let dispatcher = Reading()
  private let waiting = WaitingBytesBudget.standard()

  private func connect(hello token: String?) throws -> EmbeddedChannel {
    var configuration = ServerConfiguration(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    configuration.waitingBytes = waiting
    let server = RPCServer(
      configuration, dispatcher: dispatcher, authenticator: KeyAuthenticator(), group: loop)
    let channel = EmbeddedChannel(loop: loop)
    channel.remoteAddress = try SocketAddress.makeAddressResolvingHost("192.0.2.1", port: 1000)
    try server.serve(channel)
    try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1000)).wait()
    if let token {
      try channel.writeInbound(
        frame(#"{"jsonrpc":"2.0","id":0,"method":"rpc.hello","params":{"token":"\#(token)"}}"#))
      _ = try output(channel)
    }
    return channel
  }

  private func frame(_ text: String) -> ByteBuffer {
    var buffer = ByteBuffer()
    buffer.writeInteger(UInt32(text.utf8.count))
    buffer.writeString(text)
    return buffer
  }

  private func call(_ method: String, _ padding: Int, id: Int = 1, methodFirst: Bool = true) -> ByteBuffer {
    let params = #""params":{"payload":"\#(String(repeating: "p", count: padding))"}"#
    let name = #""method":"\#(method)""#
    return frame(#"{"jsonrpc":"2.0","id":\#(id),\#(methodFirst ? name + "," + params : params + "," + name)}"#)
  }

  private func first(_ count: Int, of bytes: inout ByteBuffer) -> ByteBuffer {
    bytes.readSlice(length: min(count, bytes.readableBytes)) ?? ByteBuffer()
  }

  private func write(_ bytes: ByteBuffer, to channel: EmbeddedChannel, partBytes: Int = 60_000) throws {
    var bytes = bytes
    while bytes.readableBytes > 0 {
      try channel.writeInbound(first(partBytes, of: &bytes))
      loop.run()
    }
  }

  private func output(_ channel: EmbeddedChannel) throws -> String {
    loop.run()
    var text = ""
    while let part = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: part) }
    return text
  }

  @Test func refusedCallFailsAfterItsHeadAndRestIsDropped() throws {
    let channel = try connect(hello: "key")
    var bytes = call("a.B/Write", 1_000_000, id: 7)
    try channel.writeInbound(first(70_000, of: &bytes))
    let text = try output(channel)
    #expect(text.contains(#""id":7"#) && text.contains("SCOPE_MISSING"))
    #expect(dispatcher.started.all == [0] && waiting.totalBytes == 0)
    try write(bytes, to: channel)
    #expect(try output(channel) == "" && waiting.totalBytes == 0)
    // Frames after it are served: short ones, and long ones after their own heads were checked.
    var behind = call("a.B/Read", 10, id: 8)
    behind.writeImmutableBuffer(call("a.B/Read", 300_000, id: 9))
    behind.writeImmutableBuffer(call("a.B/Write", 200_000, id: 10))
    behind.writeImmutableBuffer(call("a.B/Read", 20, id: 11))
    try write(behind, to: channel)
    let rest = try output(channel)
    for id in 8...11 { #expect(rest.contains("\"id\":\(id)")) }
    #expect(dispatcher.started.all == [0, 24, 300_014, 0, 34])
    #expect(dispatcher.judged.all == ["a.B/Write", "a.B/Read", "a.B/Write"])
    #expect(channel.isActive && waiting.totalBytes == 0)
    _ = try channel.finish()
  }

  @Test(arguments: [1, 1_000, 65_536, 2_000_000]) func framesAfterDroppedOneAreDecoded(partBytes: Int)
    throws
  {
    let channel = try connect(hello: "key")
    var bytes = call("a.B/Write", 100_000)
    for id in 2...4 { bytes.writeImmutableBuffer(call("a.B/Read", 5, id: id)) }
    try write(bytes, to: channel, partBytes: partBytes)
    let text = try output(channel)
    for id in 1...4 { #expect(text.contains("\"id\":\(id)")) }
    _ = try channel.finish()
  }

  @Test func frameWithMethodBeyondHeadIsReadCompletely() throws {
    let channel = try connect(hello: "key")
    try write(call("a.B/Write", 100_000, methodFirst: false), to: channel)
    #expect(try output(channel).contains("SCOPE_MISSING"))
    #expect(dispatcher.started.all == [100_014] && dispatcher.judged.all.isEmpty)
    _ = try channel.finish()
  }

  @Test func trustedConnectionIsNotChecked() throws {
    let channel = try connect(hello: "internal")
    try write(call("a.B/Write", 100_000), to: channel)
    #expect(dispatcher.started.all == [100_014] && dispatcher.judged.all.isEmpty)
    _ = try channel.finish()
  }

  @Test func credentialInHeadAppliesToItsCall() throws {
    let channel = try connect(hello: nil)
    let head = #"{"jsonrpc":"2.0","id":3,"method":"a.B/Write","metadata":{"authorization":"Bearer k"},"params":{"p":""#
    var bytes = frame(head + String(repeating: "p", count: 500_000) + #""}}"#)
    try channel.writeInbound(first(2_000, of: &bytes))
    let text = try output(channel)
    #expect(text.contains(#""id":3"#) && text.contains("SCOPE_MISSING"))
    try write(bytes, to: channel)
    #expect(channel.isActive && dispatcher.started.all == [0])
    _ = try channel.finish()
  }

  @Test func droppedFrameIsSubjectToFrameTimeout() throws {
    let channel = try connect(hello: "key")
    var bytes = call("a.B/Write", 1_000_000)
    try channel.writeInbound(first(70_000, of: &bytes))
    _ = try output(channel)
    loop.advanceTime(by: .seconds(12))
    #expect(try output(channel).contains("FRAME_TOO_SLOW"))
  }

  @Test func eachRefusedFrameHasItsOwnTimeout() throws {
    let channel = try connect(hello: "key")
    for _ in 0..<4 {
      var bytes = call("a.B/Write", 200_000)
      try channel.writeInbound(first(100_000, of: &bytes))
      loop.advanceTime(by: .seconds(4))
      bytes.writeImmutableBuffer(call("a.B/Read", 5))
      try channel.writeInbound(first(bytes.readableBytes - 10, of: &bytes))
      loop.advanceTime(by: .seconds(4))
      try channel.writeInbound(bytes)
    }
    let text = try output(channel)
    #expect(!text.contains("FRAME_TOO_SLOW"))
    #expect(channel.isActive && dispatcher.started.all.count == 8)
    _ = try channel.finish()
  }

  @Test(
    arguments: [
      (#"{"id":1,"method":"m","metadata":{}}"#, "m", true), (#"  {"metadata":{},"method":"m","id":"x"}"#, "m", true),
      (#"{"id":1,"method":"a\/b","params":{"x":"#, "a/b", false), (#"{"id":1,"params":{"x":"#, nil, false),
    ] as [(String, String?, Bool)])
  func incompleteHeadsAreRead(text: String, method: String?, isComplete: Bool) {
    let head = Array(text.utf8).withUnsafeBytes { FrameHead($0) }
    #expect(head.method == method && head.isComplete == isComplete && !head.isUnreadable && head.id != nil)
  }

  @Test(arguments: ["[", "7", #"{"method":7,"x""#, #"{"metadata":[],"x""#])
  func invalidHeadsAreUnreadable(text: String) {
    #expect(Array(text.utf8).withUnsafeBytes { FrameHead($0) }.isUnreadable)
  }
}
