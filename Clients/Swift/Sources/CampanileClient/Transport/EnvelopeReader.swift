import CampanileBase

/// Splits the bytes of a stream into envelopes: a byte of flags, the length in four bytes, and the message.
struct EnvelopeReader {
  enum Envelope: Equatable {
    case message([UInt8])
    /// The last envelope, which contains the status.
    case end([UInt8])
  }

  static let headBytes = 5
  private static let endFlag: UInt8 = 2

  private let messageBytesMax: Int
  private var buffer: [UInt8] = []
  /// The number of bytes at the start of `buffer` that were returned.
  private var consumed = 0

  init(messageBytesMax: Int) { self.messageBytesMax = messageBytesMax }

  /// Whether bytes of an incomplete envelope are left.
  var isIncomplete: Bool { consumed < buffer.count }

  mutating func append(_ bytes: [UInt8]) {
    if consumed > 0 {
      buffer.removeFirst(consumed)
      consumed = 0
    }
    buffer.append(contentsOf: bytes)
  }

  /// Removes the next envelope; returns `nil` until it is complete.
  ///
  /// - Throws: RESOURCE_EXHAUSTED `RESPONSE_TOO_LARGE` as soon as the head of a longer message is known; UNAVAILABLE
  ///   `RESPONSE_INVALID` for unknown flags.
  mutating func next() throws(RPCError) -> Envelope? {
    guard buffer.count - consumed >= Self.headBytes else { return nil }
    let flags = buffer[consumed]
    guard flags == 0 || flags == Self.endFlag else {
      throw ConnectError.invalidResponse("an envelope has the flags \(flags)")
    }
    let length = buffer[(consumed + 1)..<(consumed + Self.headBytes)].reduce(0) { $0 << 8 | Int($1) }
    guard length <= messageBytesMax else { throw ResponseLimit.error(messageBytesMax) }
    let first = consumed + Self.headBytes
    guard buffer.count - first >= length else { return nil }
    consumed = first + length
    let message = Array(buffer[first..<consumed])
    return flags == Self.endFlag ? .end(message) : .message(message)
  }

  /// Returns a request in an envelope.
  static func envelope(_ message: [UInt8]) -> [UInt8] {
    let length = withUnsafeBytes(of: UInt32(truncatingIfNeeded: message.count).bigEndian) { Array($0) }
    return [0] + length + message
  }
}

/// The error of a response above the client's limit.
enum ResponseLimit {
  static func error(_ sizeBytesMax: Int) -> RPCError {
    RPCError(
      .resourceExhausted, "the response is longer than \(sizeBytesMax) bytes; raise responseBytesMax or read less",
      reason: "RESPONSE_TOO_LARGE")
  }
}
