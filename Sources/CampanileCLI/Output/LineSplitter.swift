/// Splits a stream of bytes into lines.
public struct LineSplitter: Sendable, Hashable {
  /// Maximum length of a line; longer lines are split.
  public let lineBytesMax: Int
  private var rest: [UInt8] = []

  public init(lineBytesMax: Int) {
    self.lineBytesMax = max(1, lineBytesMax)
  }

  /// Appends bytes and returns the lines they complete, without newlines.
  public mutating func add(_ bytes: some Sequence<UInt8>) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        lines.append(rest)
        rest.removeAll(keepingCapacity: true)
        continue
      }
      if rest.count == lineBytesMax {
        lines.append(rest)
        rest.removeAll(keepingCapacity: true)
      }
      rest.append(byte)
    }
    return lines
  }

  /// Returns the bytes after the last newline as a line, if there are any.
  public mutating func finish() -> [[UInt8]] {
    defer { rest = [] }
    return rest.isEmpty ? [] : [rest]
  }
}
