import CampanileBase
import CampanileHTTP
import CampanileRPC
import Gateway
import NIOCore
import NIOHTTP1

// Request bodies, as they arrive.
extension HTTPConnection {
  /// Body bytes that may be buffered within one event loop tick without being accounted for.
  private static let uncountedBytesMax = 64 * 1024

  func take(_ bytes: ByteBuffer) {
    guard let exchange, state.reads(streams: exchange.messages != nil) else { return }
    if let upload = exchange.upload { return take(bytes, into: upload) }
    do throws(RPCError) {
      exchange.passedBytes += bytes.readableBytes
      // A stream of messages has no maximum length; each of its messages has one.
      guard exchange.messages != nil || exchange.passedBytes <= bodyBytesMax(exchange) else {
        throw bodyTooLarge(exchange)
      }
      // The body of a refused request is discarded.
      guard exchange.refusal == nil, exchange.takesBody else { return }
      guard exchange.isCompressed else { return try keep(bytes, exchange) }
      let inflater = exchange.inflater ?? BodyInflater()
      exchange.inflater = inflater
      try inflater.inflate(bytes) { piece throws(RPCError) in
        exchange.decodedBytes += piece.readableBytes
        guard exchange.decodedBytes <= bodyBytesMax(exchange) else { throw bodyTooLarge(exchange) }
        try keep(piece, exchange)
      }
    } catch {
      endReading(exchange.refusal?.error ?? error, headers: exchange.refusal?.headers ?? [])
    }
  }

  private func keep(_ bytes: ByteBuffer, _ exchange: HTTPExchange) throws(RPCError) {
    if let messages = exchange.messages { return try take(bytes, into: messages) }
    var bytes = bytes
    exchange.body.writeBuffer(&bytes)
    if exchange.body.readableBytes >= exchange.countedBytes + Self.uncountedBytesMax { try count(exchange) }
  }

  /// Accounts for an unfinished body once a tick has read all available data. Bodies that arrive whole, as most do, are
  /// never accounted for.
  func readPaused() {
    guard let exchange, !state.isRead, exchange.body.readableBytes > exchange.countedBytes else { return }
    do throws(RPCError) { try count(exchange) } catch { refuseAndClose(error) }
  }

  private func count(_ exchange: HTTPExchange) throws(RPCError) {
    let waiting = exchange.body.readableBytes
    try account(exchange).count(waiting + (exchange.inflater == nil ? 0 : BodyInflater.stateBytes))
    exchange.countedBytes = waiting
  }

  /// Reports an error in the body. A call that has started is aborted; other requests receive a response at once.
  private func endReading(_ error: RPCError, headers: [(String, String)]) {
    if exchange?.messages != nil { abandon(error) } else { refuseAndClose(error, headers: headers) }
  }

  /// Returns whether bytes that arrive behind the current request are kept.
  ///
  /// While the connection is kept alive, up to 64 KiB are kept; more only for authenticated callers and within the
  /// budget. If bytes are dropped, the current request becomes the connection's last one.
  func keeps(behind sizeBytes: Int) -> Bool {
    guard let exchange, sizeBytes > Self.uncountedBytesMax || !state.keepsAlive else { return true }
    if state.keepsAlive, exchange.caller?.principalName != nil,
      (try? account(exchange).count(sizeBytes)) != nil
    {
      return true
    }
    state.endAfterResponse()
    return false
  }

  func releaseBody() {
    guard let exchange else { return }
    exchange.body = ByteBuffer()
    exchange.inflater = nil
    exchange.account = nil
  }
}
