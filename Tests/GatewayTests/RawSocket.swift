import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A connection without an RPC client, which sends frames exactly as a test writes them.
enum RawSocket {
  /// Sends a hello with `token` and the frames, waits for `condition`, and resets the connection.
  static func reset(
    port: Int, token: String, _ frames: String..., after condition: () async throws -> Void
  ) async throws {
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connect(host: "127.0.0.1", port: port).get()
    try await (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
    try await channel.writeAndFlush(bytes(token: token, frames)).get()
    try await condition()
    try await channel.close()
  }

  private static func bytes(token: String?, _ frames: [String]) -> ByteBuffer {
    var buffer = ByteBuffer()
    let hello = token.map { #"{"jsonrpc":"2.0","id":"hello","method":"rpc.hello","params":{"token":"\#($0)"}}"# }
    for frame in [hello].compactMap({ $0 }) + frames {
      buffer.writeInteger(UInt32(frame.utf8.count))
      buffer.writeString(frame)
    }
    return buffer
  }

  /// Returns the bytes of one frame.
  static func bytes(_ frame: String) -> ByteBuffer { bytes(token: nil, [frame]) }

  /// Sends a hello with `token` and the frames. Returns the open connection and what it receives.
  static func open(
    port: Int, token: String, _ frames: String...
  ) async throws -> (channel: any Channel, received: ReceivedFrames) {
    let received = ReceivedFrames()
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(FrameCollector(received))
        }
      }
      .connect(host: "127.0.0.1", port: port).get()
    try await channel.writeAndFlush(bytes(token: token, frames)).get()
    return (channel, received)
  }

  /// Sends a hello if there is a `token`, then the frames.
  ///
  /// - Returns: The error if the hello is refused, else the first frame after the response to the hello.
  static func exchange(port: Int, token: String? = nil, _ frames: String...) async throws -> String {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let answer = loop.makePromise(of: String.self)
    let channel = try await ClientBootstrap(group: loop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(FirstFrames(skipping: token == nil ? 0 : 1, answer))
        }
      }
      .connect(host: "127.0.0.1", port: port).get()
    try await channel.writeAndFlush(bytes(token: token, frames)).get()
    let text = try await answer.futureResult.get()
    try? await channel.close()
    return text
  }
}

/// The frames that a connection has received.
final class ReceivedFrames: Sendable {
  private let frames = Mutex<[String]>([])
  func add(_ frame: String) { frames.withLock { $0.append(frame) } }
  var all: [String] { frames.withLock { $0 } }
}

private final class FrameCollector: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  private let received: ReceivedFrames
  private var bytes = ByteBuffer()

  init(_ received: ReceivedFrames) { self.received = received }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    bytes.writeImmutableBuffer(unwrapInboundIn(data))
    while let length: UInt32 = bytes.getInteger(at: bytes.readerIndex), bytes.readableBytes >= 4 + Int(length) {
      bytes.moveReaderIndex(forwardBy: 4)
      received.add(bytes.readString(length: Int(length)) ?? "")
    }
  }
}

private final class FirstFrames: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  private var skipping: Int
  private let answer: EventLoopPromise<String>
  private var bytes = ByteBuffer()

  init(skipping: Int, _ answer: EventLoopPromise<String>) {
    self.skipping = skipping
    self.answer = answer
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    bytes.writeImmutableBuffer(unwrapInboundIn(data))
    while let length: UInt32 = bytes.getInteger(at: bytes.readerIndex), bytes.readableBytes >= 4 + Int(length) {
      bytes.moveReaderIndex(forwardBy: 4)
      let text = bytes.readString(length: Int(length)) ?? ""
      if skipping > 0, !text.contains("\"error\"") { skipping -= 1 } else { answer.succeed(text) }
    }
  }

  func channelInactive(context: ChannelHandlerContext) { answer.fail(ChannelError.eof) }
}
