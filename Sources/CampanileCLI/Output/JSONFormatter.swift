/// Reformats JSON text without parsing numbers or reordering keys.
///
/// Values stay as received, except that characters with a meaning to terminals are escaped.
public struct JSONFormatter: Sendable, Hashable {
  /// The layout of the text.
  public enum Layout: String, Sendable, Hashable, CaseIterable {
    /// On one line, without spaces.
    case compact
    /// Indented by two spaces.
    case pretty
  }

  public var layout: Layout
  /// Whether keys, strings and other values have different colours.
  public var isColoured: Bool

  public init(layout: Layout, isColoured: Bool = false) {
    self.layout = layout
    self.isColoured = isColoured
  }

  /// Returns the text in the configured layout, without a final newline. The tokens of invalid JSON are preserved.
  public func format(_ json: some Collection<UInt8>) -> [UInt8] {
    var state = State(formatter: self, bytes: Array(json))
    state.run()
    return state.output
  }

  /// Returns the string in the configured layout.
  public func format(_ json: String) -> String {
    String(decoding: format(json.utf8), as: UTF8.self)
  }
}

extension JSONFormatter {
  /// A single pass over the tokens. There is no recursion, so that no input can exhaust the stack.
  private struct State {
    let formatter: JSONFormatter
    let bytes: [UInt8]
    var output: [UInt8] = []
    private var index = 0
    /// Whether each open container is an object; needed to recognise keys.
    private var isObject: [Bool] = []
    private var expectsKey = false

    init(formatter: JSONFormatter, bytes: [UInt8]) {
      self.formatter = formatter
      self.bytes = bytes
      output.reserveCapacity(bytes.count * 2)
    }

    mutating func run() {
      while index < bytes.count {
        let byte = bytes[index]
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): index += 1
        case UInt8(ascii: "{"), UInt8(ascii: "["): open(byte)
        case UInt8(ascii: "}"), UInt8(ascii: "]"): close(byte)
        case UInt8(ascii: ","): comma()
        case UInt8(ascii: ":"): colon()
        case UInt8(ascii: "\""): string()
        default: word()
        }
      }
    }

    private mutating func open(_ byte: UInt8) {
      index += 1
      skipSpace()
      output.append(byte)
      if index < bytes.count, bytes[index] == (byte == UInt8(ascii: "{") ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
        output.append(bytes[index])
        index += 1
        return
      }
      isObject.append(byte == UInt8(ascii: "{"))
      expectsKey = byte == UInt8(ascii: "{")
      newLine()
    }

    private mutating func close(_ byte: UInt8) {
      index += 1
      if !isObject.isEmpty { isObject.removeLast() }
      expectsKey = false
      newLine()
      output.append(byte)
    }

    private mutating func comma() {
      index += 1
      output.append(UInt8(ascii: ","))
      expectsKey = isObject.last ?? false
      newLine()
    }

    private mutating func colon() {
      index += 1
      expectsKey = false
      output.append(UInt8(ascii: ":"))
      if formatter.layout == .pretty { output.append(UInt8(ascii: " ")) }
    }

    private mutating func string() {
      let start = index
      index += 1
      while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
        index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
      }
      index = min(index + 1, bytes.count)
      put(start..<index, colour: expectsKey ? .cyan : .green)
    }

    private mutating func word() {
      let start = index
      // A control character also ends a word, except as its first byte: the loop must always advance.
      repeat { index += 1 } while index < bytes.count && !Self.endsWord(bytes[index])
      put(start..<index, colour: .yellow)
    }

    private static func endsWord(_ byte: UInt8) -> Bool {
      byte <= UInt8(ascii: " ") || ",:{}[]\"".utf8.contains(byte)
    }

    private mutating func put(_ range: Range<Int>, colour: Terminal.Colour) {
      if formatter.isColoured { output.append(contentsOf: colour.start.utf8) }
      output.append(contentsOf: Terminal.printableJSON(bytes[range]))
      if formatter.isColoured { output.append(contentsOf: Terminal.Colour.end.utf8) }
    }

    private mutating func newLine() {
      guard formatter.layout == .pretty else { return }
      output.append(UInt8(ascii: "\n"))
      output.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * isObject.count))
    }

    private mutating func skipSpace() {
      while index < bytes.count, " \t\n\r".utf8.contains(bytes[index]) { index += 1 }
    }
  }
}
