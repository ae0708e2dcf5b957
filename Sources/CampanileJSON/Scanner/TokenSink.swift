/// Receives the tokens of a text in their order, each as soon as its bytes are known to be legal.
///
/// What a string or scalar consists of comes in pieces, because a text comes in chunks. A sink cannot throw: one that is
/// content to hear no more says so by `isFinished`, and its owner asks why.
protocol TokenSink: Sendable {
  /// Whether strings and scalars are delivered. A constant, so that the calls vanish for sinks that need none.
  static var wantsContent: Bool { get }
  /// Whether the scanner may stop: it looks after every block.
  var isFinished: Bool { get }

  mutating func open(isObject: Bool, at offset: Int64)
  mutating func close(isObject: Bool, at offset: Int64)
  /// A string starts; `isName` if it is the name of a member.
  mutating func beginString(isName: Bool, at offset: Int64)
  /// The next bytes of the string as they are in the text, escapes included.
  mutating func stringBytes(isName: Bool, _ bytes: UnsafeRawBufferPointer)
  mutating func endString(isName: Bool)
  /// A whole string, in place of the three calls above. `isPlain` says that it has no escapes.
  mutating func string(isName: Bool, _ bytes: UnsafeRawBufferPointer, isPlain: Bool, at offset: Int64)
  /// A number or literal starts, with this byte; it comes again in `scalarBytes`.
  mutating func beginScalar(_ first: UInt8, at offset: Int64)
  mutating func scalarBytes(_ bytes: UnsafeRawBufferPointer)
  mutating func endScalar()
}

extension TokenSink {
  @inline(__always)
  mutating func string(isName: Bool, _ bytes: UnsafeRawBufferPointer, isPlain: Bool, at offset: Int64) {
    beginString(isName: isName, at: offset)
    if !bytes.isEmpty { stringBytes(isName: isName, bytes) }
    endString(isName: isName)
  }
}

/// The sink of who wants to know only whether a text is valid.
struct NullSink: TokenSink {
  static var wantsContent: Bool { false }
  var isFinished: Bool { false }

  mutating func open(isObject: Bool, at offset: Int64) {}
  mutating func close(isObject: Bool, at offset: Int64) {}
  mutating func beginString(isName: Bool, at offset: Int64) {}
  mutating func stringBytes(isName: Bool, _ bytes: UnsafeRawBufferPointer) {}
  mutating func endString(isName: Bool) {}
  mutating func beginScalar(_ first: UInt8, at offset: Int64) {}
  mutating func scalarBytes(_ bytes: UnsafeRawBufferPointer) {}
  mutating func endScalar() {}
}
