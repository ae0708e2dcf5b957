import CampanileRPC
import NIOCore

/// The messages of a request's body on their way into a call that streams its requests: one envelope of the Connect protocol after
/// the other, as many as the service takes. What it does not take yet waits with the caller, but for one message and a little.
///
/// Confined to the connection's event loop.
final class RequestMessages {
  /// From so many waiting bytes on nothing more is read while the service takes no message.
  static let waitingBytesMax = 64 * 1024

  private let call: ServerCall
  private let plan: HTTPPlan
  private let isGzip: Bool
  private let bytesMax: Int
  private let connections: HTTPConnections
  private var waiting = ByteBuffer()
  /// Messages that the service still takes.
  private var credit = WireLimits.streamCredit
  private var isComplete = false
  private var isEnded = false
  private var isDelivering = false
  /// How many messages were delivered.
  private(set) var count = 0

  /// - Parameter bytesMax: of one message.
  init(_ call: ServerCall, _ plan: HTTPPlan, isGzip: Bool, bytesMax: Int, _ connections: HTTPConnections) {
    self.call = call
    self.plan = plan
    self.isGzip = isGzip
    self.bytesMax = bytesMax
    self.connections = connections
  }

  var takesMore: Bool { isEnded || credit > 0 || waiting.readableBytes < Self.waitingBytesMax }

  func take(_ bytes: ByteBuffer) {
    guard !isEnded else { return }
    var bytes = bytes
    connections.readingBytes += bytes.readableBytes
    waiting.writeBuffer(&bytes)
    deliver()
  }

  /// The body is complete.
  func complete() {
    isComplete = true
    deliver()
  }

  /// The service takes `messages` more.
  func granted(_ messages: Int) {
    credit += messages
    deliver()
  }

  /// Nothing more is delivered.
  func end() {
    guard !isEnded else { return }
    isEnded = true
    connections.readingBytes -= waiting.readableBytes
    waiting = ByteBuffer()
  }

  private func deliver() {
    // A delivery may grant more, or end the call, before it returns.
    guard !isDelivering else { return }
    isDelivering = true
    defer { isDelivering = false }
    do throws(RPCError) {
      while !isEnded, credit > 0, let envelope = try next() {
        credit -= 1
        count += 1
        try plan.withMessage(envelope) { call.deliver(message: $0) }
      }
      guard isComplete, !isEnded, credit > 0 || waiting.readableBytes == 0 else { return }
      guard waiting.readableBytes == 0 else { throw ConnectEnvelope.invalid("the body ends inside of an envelope") }
      end()
      call.deliverHalfClose()
    } catch {
      end()
      call.abort(error)
    }
  }

  /// The bytes of the next whole envelope, unpacked.
  private func next() throws(RPCError) -> [UInt8]? {
    guard let flags = waiting.getInteger(at: waiting.readerIndex, as: UInt8.self) else { return nil }
    guard flags & ~ConnectEnvelope.compressedFlag == 0 else {
      throw ConnectEnvelope.invalid("the envelope has flags that are not known")
    }
    guard let length = waiting.getInteger(at: waiting.readerIndex + 1, as: UInt32.self).map({ Int($0) }) else {
      return nil
    }
    guard length <= bytesMax else {
      throw RPCError(.resourceExhausted, "the message is longer than \(bytesMax) bytes", reason: "BODY_TOO_LARGE")
    }
    guard waiting.readableBytes >= ConnectEnvelope.prefixBytes + length else { return nil }
    waiting.moveReaderIndex(forwardBy: ConnectEnvelope.prefixBytes)
    let message = waiting.readBytes(length: length) ?? []
    waiting.discardReadBytes()
    connections.readingBytes -= ConnectEnvelope.prefixBytes + length
    guard flags & ConnectEnvelope.compressedFlag != 0 else { return message }
    guard isGzip else { throw ConnectEnvelope.invalid("the envelope is compressed and nothing says how") }
    let outcome = message.withUnsafeBytes { bytes -> Result<[UInt8], RPCError> in
      do throws(RPCError) { return .success(try Gunzip.decompress(bytes, bytesMax: bytesMax)) } catch {
        return .failure(error)
      }
    }
    return try outcome.get()
  }
}
