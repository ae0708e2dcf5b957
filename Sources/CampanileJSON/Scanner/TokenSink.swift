/// Receives the tokens of a text in order, each as soon as its bytes are known to be valid.
///
/// Strings and scalars arrive in pieces, because a text arrives in chunks. A sink cannot throw: to stop the scanner, it
/// sets `isFinished`, and its owner reads the reason from it.
protocol TokenSink: Sendable {
  /// Whether strings and scalars are delivered. A constant, so that the compiler removes the calls for sinks without
  /// content.
  static var wantsContent: Bool { get }
  /// Whether the scanner may stop. Read after every block.
  var isFinished: Bool { get }

  mutating func open(isObject: Bool, at offset: Int64)
  mutating func close(isObject: Bool, at offset: Int64)
  /// A string starts; `isName` if it is the name of a member.
  mutating func beginString(isName: Bool, at offset: Int64)
  /// The next bytes of the string in their raw notation, including escapes.
  mutating func stringBytes(isName: Bool, _ bytes: UnsafeRawBufferPointer)
  mutating func endString(isName: Bool)
  /// A complete string, in place of the three calls above. `isPlain` if it has no escapes.
  mutating func string(isName: Bool, _ bytes: UnsafeRawBufferPointer, isPlain: Bool, at offset: Int64)
  /// A number or literal starts with this byte, which is also part of `scalarBytes`.
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

/// A sink for pure validation: it ignores all tokens.
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
