/// Walks the members of an object whose structure was checked before, as the ranges that the envelope scan told were.
///
/// For the wire's own small objects (metadata, error data, `rpc.*` params). A fault in the text ends the walk instead of
/// trapping, so that it is safe on unchecked text too.
struct JSONObjectReader {
  struct Member {
    /// The name with its escapes resolved; one with half of a surrogate pair, which has no text, is U+FFFD.
    var name: String
    /// Where the value lies.
    var value: Range<Int>
  }

  private var scanner: JSONScanner
  private let bytes: UnsafeRawBufferPointer
  private var isFirst = true

  /// `nil` when the value at `range` is no object.
  init?(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
    guard range.upperBound <= bytes.count, !range.isEmpty else { return nil }
    self.bytes = bytes
    scanner = JSONScanner(UnsafeRawBufferPointer(rebasing: bytes[..<range.upperBound]))
    scanner.index = range.lowerBound
    guard scanner.peek() == UInt8(ascii: "{") else { return nil }
    scanner.index += 1
  }

  /// The next member, or `nil` at the end.
  mutating func next() -> Member? {
    if !isFirst {
      guard scanner.peek() == UInt8(ascii: ",") else { return nil }
      scanner.index += 1
    }
    isFirst = false
    guard scanner.peek() == UInt8(ascii: "\"") else { return nil }
    let start = scanner.index + 1
    guard (try? scanner.skipString()) != nil else { return nil }
    // Not the end of the walk: what follows would be passed over.
    let name = EnvelopeScanner.resolve(bytes, start..<scanner.index - 1) ?? "\u{FFFD}"
    guard scanner.peek() == UInt8(ascii: ":") else { return nil }
    scanner.index += 1
    guard let value = Self.skip(&scanner) else { return nil }
    return Member(name: name, value: value)
  }

  static func skip(_ scanner: inout JSONScanner) -> Range<Int>? {
    _ = scanner.peek()
    let start = scanner.index
    do { try scanner.skipValue(depthMax: EnvelopeScanner.depthMax) } catch { return nil }
    return start..<scanner.index
  }

  /// The values of an array, or `nil` when the value at `range` is none. At most `countMax` are told.
  static func elements(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, countMax: Int) -> [Range<Int>]? {
    guard range.upperBound <= bytes.count, !range.isEmpty else { return nil }
    var scanner = JSONScanner(UnsafeRawBufferPointer(rebasing: bytes[..<range.upperBound]))
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

  /// The text of a string value, or `nil`.
  static func string(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> String? {
    guard range.count >= 2, bytes[range.lowerBound] == UInt8(ascii: "\"") else { return nil }
    return EnvelopeScanner.resolve(bytes, range.lowerBound + 1..<range.upperBound - 1)
  }

  /// The value of an integer or boolean, or `nil`.
  static func integer(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Int64? {
    EnvelopeScanner.integer(bytes, range)
  }
  static func bool(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool? {
    if EnvelopeScanner.equals(bytes, range, "true") { return true }
    return EnvelopeScanner.equals(bytes, range, "false") ? false : nil
  }
}
