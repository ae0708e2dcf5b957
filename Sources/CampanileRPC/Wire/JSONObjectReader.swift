/// Iterates over the members of an object whose structure was checked, for example by the envelope scan.
///
/// Used for the wire protocol's small objects (metadata, error data, `rpc.*` params). Invalid text ends the iteration
/// instead of trapping, so that unchecked text is safe as well.
struct JSONObjectReader {
  struct Member {
    /// The name with its escapes resolved; U+FFFD if it contains a lone surrogate.
    var name: String
    /// The range of the value.
    var value: Range<Int>
  }

  private var scanner: WireJSONScanner
  private let bytes: UnsafeRawBufferPointer
  private var isFirst = true

  /// Creates a reader; `nil` if the value at `range` is not an object.
  init?(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
    guard range.upperBound <= bytes.count, !range.isEmpty else { return nil }
    self.bytes = bytes
    scanner = WireJSONScanner(UnsafeRawBufferPointer(rebasing: bytes[..<range.upperBound]))
    scanner.index = range.lowerBound
    guard scanner.peek() == UInt8(ascii: "{") else { return nil }
    scanner.index += 1
  }

  /// Returns the next member, or `nil` at the end.
  mutating func next() -> Member? {
    if !isFirst {
      guard scanner.peek() == UInt8(ascii: ",") else { return nil }
      scanner.index += 1
    }
    isFirst = false
    guard scanner.peek() == UInt8(ascii: "\"") else { return nil }
    let start = scanner.index + 1
    guard (try? scanner.skipString()) != nil else { return nil }
    // An unreadable name must not end the iteration: later members would be skipped.
    let name = EnvelopeScanner.resolve(bytes, start..<scanner.index - 1) ?? "\u{FFFD}"
    guard scanner.peek() == UInt8(ascii: ":") else { return nil }
    scanner.index += 1
    guard let value = Self.skip(&scanner) else { return nil }
    return Member(name: name, value: value)
  }

  static func skip(_ scanner: inout WireJSONScanner) -> Range<Int>? {
    _ = scanner.peek()
    let start = scanner.index
    do { try scanner.skipValue(depthMax: EnvelopeScanner.depthMax) } catch { return nil }
    return start..<scanner.index
  }

  /// Returns the ranges of at most `countMax` values of an array, or `nil` if the value at `range` is not an array.
  static func elements(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, countMax: Int) -> [Range<Int>]? {
    guard range.upperBound <= bytes.count, !range.isEmpty else { return nil }
    var scanner = WireJSONScanner(UnsafeRawBufferPointer(rebasing: bytes[..<range.upperBound]))
    scanner.index = range.lowerBound
    guard scanner.peek() == UInt8(ascii: "[") else { return nil }
    scanner.index += 1
    var found: [Range<Int>] = []
    if scanner.peek() == UInt8(ascii: "]") { return found }
    while found.count < countMax, let value = skip(&scanner) {
      found.append(value)
      guard scanner.peek() == UInt8(ascii: ",") else { break }
      scanner.index += 1
    }
    return found
  }

  /// Returns the text of a string value, or `nil`.
  static func string(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> String? {
    guard range.count >= 2, bytes[range.lowerBound] == UInt8(ascii: "\"") else { return nil }
    return EnvelopeScanner.resolve(bytes, range.lowerBound + 1..<range.upperBound - 1)
  }

  /// Returns the value of an integer, or `nil`.
  static func integer(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Int64? {
    EnvelopeScanner.integer(bytes, range)
  }
  static func bool(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool? {
    if EnvelopeScanner.equals(bytes, range, "true") { return true }
    return EnvelopeScanner.equals(bytes, range, "false") ? false : nil
  }
}
