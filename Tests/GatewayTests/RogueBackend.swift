import CampanileBase
import CampanileRPC
import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A server that speaks the frame protocol and handles each call as the test specifies.
final class RogueBackend: Sendable {
  /// The reaction to a call: the frames to send, and whether to close the connection afterwards.
  struct Reply: Sendable {
    var frames: [String] = []
    var closes = false
    static let nothing = Reply()
  }

  let address: HostPort
  private let channel: any Channel
  private let connections = Mutex<[any Channel]>([])
  private let received = Mutex<[String]>([])

  /// - Parameter answer: Called with the id and method of each call, except `rpc.*` and health watches.
  init(refusingHello: Bool = false, answer: @escaping @Sendable (Int, String) -> Reply) async throws {
    let box = Box()
    channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { child in
        child.eventLoop.makeCompletedFuture {
          box.owner.withLock { $0 }?.connections.withLock { $0.append(child) }
          try child.pipeline.syncOperations.addHandler(
            RogueHandler(refusingHello: refusingHello, answer: answer) { text in
              box.owner.withLock { $0 }?.received.withLock { $0.append(text) }
            })
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    address = HostPort(host: "127.0.0.1", port: channel.localAddress?.port ?? 0)
    box.owner.withLock { $0 = self }
  }

  private final class Box: Sendable { let owner = Mutex<RogueBackend?>(nil) }

  /// All received frames.
  var frames: [String] { received.withLock { $0 } }

  /// Sends a frame on all connections.
  func send(_ text: String) {
    var buffer = ByteBuffer()
    buffer.writeInteger(UInt32(text.utf8.count))
    buffer.writeString(text)
    for connection in connections.withLock({ $0 }) { connection.writeAndFlush(buffer, promise: nil) }
  }

  /// Closes the listener and all connections.
  func kill() async {
    try? await channel.close()
    for connection in connections.withLock({ $0 }) { try? await connection.close() }
  }
}

private final class RogueHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  private let refusingHello: Bool
  private let answer: @Sendable (Int, String) -> RogueBackend.Reply
  private let onFrame: @Sendable (String) -> Void
  private var bytes = ByteBuffer()

  init(
    refusingHello: Bool, answer: @escaping @Sendable (Int, String) -> RogueBackend.Reply,
    onFrame: @escaping @Sendable (String) -> Void
  ) {
    self.refusingHello = refusingHello
    self.answer = answer
    self.onFrame = onFrame
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    bytes.writeImmutableBuffer(unwrapInboundIn(data))
    while let length: UInt32 = bytes.getInteger(at: bytes.readerIndex), bytes.readableBytes >= 4 + Int(length) {
      bytes.moveReaderIndex(forwardBy: 4)
      handle(bytes.readString(length: Int(length)) ?? "", context)
    }
  }

  private func handle(_ text: String, _ context: ChannelHandlerContext) {
    onFrame(text)
    guard let object = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any],
      let method = object["method"] as? String
    else { return }
    if method == "rpc.hello" {
      guard !refusingHello else {
        send(
          #"{"jsonrpc":"2.0","id":"hello","error":{"code":16,"message":"wrong","data":{"status":"UNAUTHENTICATED"}}}"#,
          context)
        return context.close(promise: nil)
      }
      // It knows the internal token, like a real service whose calls fail.
      let nonce = (object["params"] as? [String: Any])?["nonce"] as? String ?? ""
      let own = InternalTokenProof.nonce([UInt8](repeating: 7, count: InternalTokenProof.nonceSizeBytes))
      let proof = InternalTokenProof.server(internalToken, clientNonce: nonce, serverNonce: own) ?? ""
      return send(
        #"{"jsonrpc":"2.0","id":"hello","result":{"version":"1","maxFrameBytes":4194304,"maxConcurrentCalls":1000,"#
          + #""nonce":"\#(own)","proofs":["\#(proof)"]}}"#,
        context)
    }
    if method == "rpc.prove" {
      return send(#"{"jsonrpc":"2.0","id":"prove","result":{"maxConcurrentCalls":1000}}"#, context)
    }
    guard let id = object["id"] as? Int else { return }
    if method == "grpc.health.v1.Health/Watch" {
      return send(
        #"{"jsonrpc":"2.0","method":"rpc.message","params":{"id":\#(id),"message":{"status":"SERVING"}}}"#, context)
    }
    let reply = answer(id, method)
    for frame in reply.frames { send(frame, context) }
    if reply.closes { context.close(promise: nil) }
  }

  private func send(_ text: String, _ context: ChannelHandlerContext) {
    var buffer = context.channel.allocator.buffer(capacity: text.utf8.count + 4)
    buffer.writeInteger(UInt32(text.utf8.count))
    buffer.writeString(text)
    context.writeAndFlush(NIOAny(buffer), promise: nil)
  }
}
