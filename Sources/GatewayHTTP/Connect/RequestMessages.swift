import CampanileBase
import CampanileRPC
import NIOCore

/// Delivers the messages of a request's body to a client-streaming call.
///
/// The body is a sequence of Connect envelopes, which are delivered as the service grants credit. At most about one
/// message is buffered; the rest stays with the caller.
///
/// Confined to the connection's event loop.
final class RequestMessages {
  /// Number of buffered bytes at which reading pauses while the service grants no credit.
  static let waitingBytesMax = 64 * 1024

  private let call: ServerCall
  private let plan: HTTPPlan
  private let isGzip: Bool
  private let bytesMax: Int
  private let account: BodyAccount
  private var waiting = ByteBuffer()
  private var isComplete = false
  private var isEnded = false
  private var isDelivering = false
  /// Number of messages delivered so far.
  private(set) var count = 0

  /// Creates a reader of the body of `call`.
  ///
  /// - Parameter bytesMax: Maximum size of one message.
  init(_ call: ServerCall, _ plan: HTTPPlan, isGzip: Bool, bytesMax: Int, _ account: BodyAccount) {
    self.call = call
    self.plan = plan
    self.isGzip = isGzip
    self.bytesMax = bytesMax
    self.account = account
  }

  var takesMore: Bool { isEnded || call.takesMessage || waiting.readableBytes < Self.waitingBytesMax }

  func take(_ bytes: ByteBuffer) {
    guard !isEnded else { return }
    var bytes = bytes
    waiting.writeBuffer(&bytes)
    deliver()
  }

  /// Accounts for the bytes that the service has not accepted yet. Throws the errors of `BodyAccount.count`.
  func countWaiting() throws(RPCError) { try account.count(waiting.readableBytes) }

  /// Marks the body as complete.
  func complete() {
    isComplete = true
    deliver()
  }

  /// Delivers further messages, because the service has granted credit for them.
  func granted() {
    deliver()
    account.reduce(to: waiting.readableBytes)
  }

  /// Stops delivering and discards the buffered bytes.
  func end() {
    guard !isEnded else { return }
    isEnded = true
    waiting = ByteBuffer()
    account.reduce(to: 0)
  }

  private func deliver() {
    // A delivery may grant credit, or end the call, before it returns.
    guard !isDelivering else { return }
    isDelivering = true
    defer { isDelivering = false }
    do throws(RPCError) {
      while !isEnded, call.takesMessage, let envelope = try next() {
        count += 1
        try plan.withMessage(envelope) { call.deliver(message: $0) }
      }
      guard isComplete, !isEnded, call.takesMessage || waiting.readableBytes == 0 else { return }
      guard waiting.readableBytes == 0 else { throw ConnectEnvelope.invalid("the body ends inside an envelope") }
      end()
      call.deliverHalfClose()
    } catch {
      end()
      call.abort(error)
    }
  }

  /// Returns the decompressed message of the next complete envelope, or nil if it has not arrived.
  private func next() throws(RPCError) -> [UInt8]? {
    guard let flags = waiting.getInteger(at: waiting.readerIndex, as: UInt8.self) else { return nil }
    guard flags & ~ConnectEnvelope.compressedFlag == 0 else {
      throw ConnectEnvelope.invalid("the envelope has unknown flags")
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
    guard flags & ConnectEnvelope.compressedFlag != 0 else { return message }
    guard isGzip else { throw ConnectEnvelope.invalid("the compressed envelope is not declared as gzip") }
    let outcome = message.withUnsafeBytes { bytes -> Result<[UInt8], RPCError> in
      do throws(RPCError) { return .success(try Gunzip.decompress(bytes, bytesMax: bytesMax)) } catch {
        return .failure(error)
      }
    }
    return try outcome.get()
  }
}
