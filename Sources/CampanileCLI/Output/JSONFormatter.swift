/// Lays JSON text out anew, without reading numbers or reordering keys: what came is what is shown.
public struct JSONFormatter: Sendable, Hashable {
  /// How the text is laid out.
  public enum Layout: String, Sendable, Hashable, CaseIterable {
    /// On one line, without spaces.
    case compact
    /// Indented by two spaces.
    case pretty
  }

  public var layout: Layout
  /// Whether keys, strings and other values are told apart by the terminal's colours.
  public var isColoured: Bool

  public init(layout: Layout, isColoured: Bool = false) {
    self.layout = layout
    self.isColoured = isColoured
  }

  /// The text in the layout asked for, without a line's end. Text that is not JSON comes out with its tokens kept.
  public func format(_ json: some Collection<UInt8>) -> [UInt8] {
    var state = State(formatter: self, bytes: Array(json))
    state.run()
    return state.output
  }

  /// The same for a string.
  public func format(_ json: String) -> String {
    String(decoding: format(json.utf8), as: UTF8.self)
  }
}

extension JSONFormatter {
  /// One pass over the tokens. Depth is a counter, so that no input can exhaust the stack.
  private struct State {
    let formatter: JSONFormatter
    let bytes: [UInt8]
    var output: [UInt8] = []
    private var index = 0
    /// The kind of each open container, so that a string is known to be a key.
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
      while index < bytes.count, !Self.endsWord(bytes[index]) { index += 1 }
      put(start..<index, colour: .yellow)
    }

    private static func endsWord(_ byte: UInt8) -> Bool {
      byte <= UInt8(ascii: " ") || ",:{}[]\"".utf8.contains(byte)
    }

    private mutating func put(_ range: Range<Int>, colour: Terminal.Colour) {
      if formatter.isColoured { output.append(contentsOf: colour.start.utf8) }
      output.append(contentsOf: bytes[range])
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
