import CampanileAPI
import CampanileCodec
import CampanileRPC
import NIOCore

/// The bytes of a request's body on their way into an upload. A few chunks wait at most: beyond them nothing more is read from the
/// caller until the service takes some.
///
/// Confined to the connection's event loop.
final class UploadBody {
  static let chunkBytes = 64 * 1024
  /// From so many waiting bytes on nothing more is read. What the connection has read already still comes.
  static let waitingBytesMax = 4 * chunkBytes

  private let connections: HTTPConnections
  private var waiting = ByteBuffer()
  private var isEnded = false
  private var isHalfClosed = false
  private var isSending = false
  private var fault: RPCError?
  private var call: ServerCall?
  /// Messages that the service still takes.
  private var credit = WireLimits.streamCredit
  private var scratch = JSONWriter()
  /// Told when the service has taken something, until the upload is over.
  var onProgress: (() -> Void)?
  /// Told when the service has all of it.
  var onSent: (() -> Void)?

  init(_ connections: HTTPConnections) { self.connections = connections }

  var takesMore: Bool { fault == nil && waiting.readableBytes < Self.waitingBytesMax }

  // MARK: from the caller

  func take(_ bytes: ByteBuffer) {
    guard fault == nil, !isHalfClosed else { return }
    var bytes = bytes
    connections.readingBytes += bytes.readableBytes
    waiting.writeBuffer(&bytes)
    send()
  }

  /// The body is complete.
  func end() {
    isEnded = true
    send()
  }

  /// Nothing more comes, and what came is of no use: ends the call, or keeps it from being begun.
  func fail(_ error: RPCError) {
    guard fault == nil else { return }
    fault = error
    release(waiting.readableBytes)
    waiting = ByteBuffer()
    onProgress = nil
    onSent = nil
    let call = call
    self.call = nil
    call?.abort(error)
  }

  // MARK: to the service

  /// Sends the body into `upload` by the call that `open` begins. Throws what the body has failed with.
  func start(_ upload: String, _ open: (_ onCredit: @escaping (Int) -> Void) -> ServerCall) throws(RPCError) {
    if let fault { throw fault }
    let call = open { [weak self] messages in self?.granted(messages) }
    self.call = call
    var start = UploadContentRequest.UploadStart()
    start.uploadId = upload
    isSending = true
    deliver(.start(start), to: call)
    isSending = false
    send()
  }

  private func granted(_ messages: Int) {
    credit += messages
    send()
  }

  private func send() {
    // A delivery may grant more before it returns.
    guard let call, !isSending else { return }
    isSending = true
    defer { isSending = false }
    while credit > 0, fault == nil {
      let count = waiting.readableBytes >= Self.chunkBytes || isEnded ? min(waiting.readableBytes, Self.chunkBytes) : 0
      guard count > 0, let bytes = waiting.readBytes(length: count) else { break }
      waiting.discardReadBytes()
      release(count)
      var chunk = UploadContentRequest.UploadChunk()
      chunk.data = bytes
      deliver(.chunk(chunk), to: call)
      onProgress?()
    }
    guard isEnded, !isHalfClosed, waiting.readableBytes == 0, fault == nil else { return }
    isHalfClosed = true
    onSent?()
    call.deliverHalfClose()
  }

  private func deliver(_ message: UploadContentRequest.Message, to call: ServerCall) {
    credit -= 1
    var request = UploadContentRequest()
    request.message = message
    scratch.removeAll(keepingCapacity: true)
    request.encode(to: &scratch)
    scratch.withUnsafeBytes { call.deliver(message: $0) }
  }

  private func release(_ count: Int) { connections.readingBytes -= count }
}
