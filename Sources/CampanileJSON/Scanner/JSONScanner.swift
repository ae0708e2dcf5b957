/// Scans JSON texts (RFC 8259) chunk by chunk with a state table for the grammar. Regular text is read in blocks of 64
/// bytes. The end of a chunk, a split token or an error is read byte by byte.
///
/// Each byte is processed on arrival; no part of the text is stored. After an error, every call throws the same error.
struct JSONScanner<Sink: TokenSink>: Sendable {
  let limits: JSONLimits
  var state = ScanState()
  var sink: Sink
  private(set) var failure: JSONSyntaxError?

  init(limits: JSONLimits, sink: Sink) {
    self.limits = limits
    self.sink = sink
  }

  /// Reads the next bytes. Stops early once the sink is finished.
  mutating func update(_ bytes: UnsafeRawBufferPointer) throws(JSONSyntaxError) {
    if let failure { throw failure }
    guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
    let allowed = Int(min(Int64(bytes.count), max(limits.sizeBytesMax - state.offset, 0)))
    do throws(JSONSyntaxError) {
      try scan(base, allowed)
      if allowed < bytes.count, !sink.isFinished {
        throw error(
          .sizeExceeded, "no more than \(limits.sizeBytesMax) bytes", base.load(fromByteOffset: allowed, as: UInt8.self)
        )
      }
    } catch {
      failure = error
      throw error
    }
  }

  /// Ends the text. The value must be complete, and only white space may follow it.
  mutating func finish() throws(JSONSyntaxError) -> JSONSummary {
    if let failure { throw failure }
    if state.lexeme == .number, let number = ScanState.NumberState(rawValue: state.progress), number.isComplete {
      sink.endScalar()
      state.lexeme = .none
    }
    guard state.lexeme == .none, state.expecting == Grammar.Expecting.nothing else {
      let error = JSONSyntaxError(
        .unexpectedEnd, byteOffset: state.offset, expected: expectation, found: "the end of the text")
      failure = error
      throw error
    }
    return JSONSummary(sizeBytes: state.offset, depth: state.deepest, topLevelKind: kind)
  }

  /// Makes every later call throw `error`.
  mutating func fail(_ error: JSONSyntaxError) {
    failure = error
  }

  private var kind: JSONSummary.Kind {
    switch state.firstByte {
    case UInt8(ascii: "{"): .object
    case UInt8(ascii: "["): .array
    case UInt8(ascii: "\""): .string
    case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
    case UInt8(ascii: "n"): .null
    default: .number
    }
  }

  private mutating func scan(_ base: UnsafeRawPointer, _ count: Int) throws(JSONSyntaxError) {
    var position = 0
    while position < count {
      if sink.isFinished { return }
      if count &- position >= 64, state.lexeme == .none || state.lexeme == .string {
        position = try blocks(base, position, count)
        if position >= count || sink.isFinished { return }
      }
      // The byte that stopped `blocks` is within the next 64 bytes, or the chunk ends there.
      position = try bytes(base, position, count, atLeast: 64)
    }
  }

  /// Returns an error at the next byte.
  func error(_ code: JSONSyntaxError.Code, _ expected: String, _ byte: UInt8) -> JSONSyntaxError {
    JSONSyntaxError(code, at: state.offset, expected: expected, byte: byte)
  }

  /// Returns an error for a byte that the grammar does not allow next.
  func unexpected(_ byte: UInt8) -> JSONSyntaxError {
    error(
      state.expecting == Grammar.Expecting.nothing ? .trailingBytes : .unexpectedByte,
      Grammar.expectation(state.expecting), byte)
  }
}
