/// Cuts a stream of bytes into lines.
public struct LineSplitter: Sendable, Hashable {
  /// A longer line is cut into several.
  public let lineBytesMax: Int
  private var rest: [UInt8] = []

  public init(lineBytesMax: Int) {
    self.lineBytesMax = max(1, lineBytesMax)
  }

  /// The lines that `bytes` completes, without their ends.
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

  /// What came after the last line's end, if anything.
  public mutating func finish() -> [[UInt8]] {
    defer { rest = [] }
    return rest.isEmpty ? [] : [rest]
  }
}
