import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import NIOCore

/// Passes the bytes of a request's body to an upload. Only a few chunks are buffered; reading from the caller pauses
/// until the service accepts some of them.
///
/// Confined to the connection's event loop.
final class UploadBody {
  static let chunkBytes = 64 * 1024
  /// Number of buffered bytes at which reading pauses. Bytes that the connection has already read still arrive.
  static let waitingBytesMax = 4 * chunkBytes

  private let account: BodyAccount
  private var waiting = ByteBuffer()
  private var isEnded = false
  private var isHalfClosed = false
  private var isSending = false
  private var fault: RPCError?
  private var call: ServerCall?
  private var scratch = JSONWriter()
  /// Called when the service has accepted a chunk, until the upload has ended.
  var onProgress: (() -> Void)?
  /// Called when the whole body has been sent to the service.
  var onSent: (() -> Void)?

  init(_ account: BodyAccount) { self.account = account }

  var takesMore: Bool { fault == nil && waiting.readableBytes < Self.waitingBytesMax }

  // MARK: from the caller

  /// Accepts bytes of the body and sends what the service accepts. Throws the errors of `BodyAccount.count` for the
  /// remaining bytes.
  func take(_ bytes: ByteBuffer) throws(RPCError) {
    guard fault == nil, !isHalfClosed else { return }
    var bytes = bytes
    waiting.writeBuffer(&bytes)
    send()
    try account.count(waiting.readableBytes)
  }

  /// Marks the body as complete.
  func end() {
    isEnded = true
    send()
  }

  /// Discards the body and aborts its call, or prevents the call from starting.
  func fail(_ error: RPCError) {
    guard fault == nil else { return }
    fault = error
    waiting = ByteBuffer()
    account.reduce(to: 0)
    onProgress = nil
    onSent = nil
    let call = call
    self.call = nil
    call?.abort(error)
  }

  // MARK: to the service

  /// Sends the body to `upload`, with the call that `open` starts. Throws the error of a body that has already failed.
  func start(_ upload: String, _ open: (_ onCredit: @escaping () -> Void) -> ServerCall) throws(RPCError) {
    if let fault { throw fault }
    let call = open { [weak self] in self?.send() }
    self.call = call
    let start = UploadContentRequest.UploadStart(uploadId: upload)
    isSending = true
    deliver(.start(start), to: call)
    isSending = false
    send()
  }

  private func send() {
    // A delivery may grant credit before it returns.
    guard let call, !isSending else { return }
    isSending = true
    defer { isSending = false }
    while call.takesMessage, fault == nil {
      let count = waiting.readableBytes >= Self.chunkBytes || isEnded ? min(waiting.readableBytes, Self.chunkBytes) : 0
      guard count > 0, let bytes = waiting.readBytes(length: count) else { break }
      waiting.discardReadBytes()
      account.reduce(to: waiting.readableBytes)
      let chunk = UploadContentRequest.UploadChunk(data: bytes)
      deliver(.chunk(chunk), to: call)
      onProgress?()
    }
    guard isEnded, !isHalfClosed, waiting.readableBytes == 0, fault == nil else { return }
    isHalfClosed = true
    onSent?()
    call.deliverHalfClose()
  }

  private func deliver(_ message: UploadContentRequest.Message, to call: ServerCall) {
    let request = UploadContentRequest(message: message)
    scratch.removeAll(keepingCapacity: true)
    request.encode(to: &scratch)
    scratch.withUnsafeBytes { call.deliver(message: $0) }
  }
}
