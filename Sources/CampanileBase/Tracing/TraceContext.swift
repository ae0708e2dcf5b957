/// A position in a trace, propagated between processes as W3C Trace Context.
public struct TraceContext: Sendable, Hashable {
  /// The first half of the trace's 16 bytes, which are not all zero.
  public var traceIDHigh: UInt64
  public var traceIDLow: UInt64
  /// The parent of the following spans; not zero.
  public var spanID: UInt64
  /// Whether the trace's spans are recorded.
  public var isSampled: Bool
  /// State of other vendors to propagate (`tracestate`); at most `stateBytesMax` bytes of printable ASCII.
  public var state: String

  /// The metadata keys; the same as the names of the HTTP headers.
  @inlinable public static var parentKey: String { "traceparent" }
  @inlinable public static var stateKey: String { "tracestate" }
  /// The minimum length to propagate according to W3C Trace Context section 3.3.1.5. A longer state is dropped
  /// entirely.
  public static let stateBytesMax = 512
  /// The length of a `traceparent` of version 00.
  @inlinable public static var parentSizeBytes: Int { 55 }

  public init(traceIDHigh: UInt64, traceIDLow: UInt64, spanID: UInt64, isSampled: Bool, state: String = "") {
    self.traceIDHigh = traceIDHigh
    self.traceIDLow = traceIDLow
    self.spanID = spanID
    self.isSampled = isSampled
    self.state = state
  }

  /// Parses a `traceparent` (W3C Trace Context section 3.2) and the values of `tracestate`; `nil` if the `traceparent`
  /// is invalid.
  public init?(parent: String, state: [String] = []) {
    var parent = parent
    guard let read = parent.withUTF8({ Self.read(UnsafeRawBufferPointer($0)) }) else { return nil }
    self = read
    self.state = Self.checked(state)
  }

  private static func read(_ bytes: UnsafeRawBufferPointer) -> TraceContext? {
    let dash = UInt8(ascii: "-")
    guard bytes.count >= parentSizeBytes, bytes[2] == dash, bytes[35] == dash, bytes[52] == dash,
      let version = number(bytes[0..<2]), version != 0xff,
      // A later version may have more fields after another dash.
      bytes.count == parentSizeBytes || version > 0 && bytes[parentSizeBytes] == dash,
      let high = number(bytes[3..<19]), let low = number(bytes[19..<35]), high | low != 0,
      let spanID = number(bytes[36..<52]), spanID != 0, let flags = number(bytes[53..<55])
    else { return nil }
    return TraceContext(traceIDHigh: high, traceIDLow: low, spanID: spanID, isSampled: flags & 1 != 0)
  }

  /// Parses the form that `text` returns.
  public init?(text: String) {
    let parts = text.split(separator: " ", maxSplits: 1)
    guard let parent = parts.first else { return nil }
    self.init(parent: String(parent), state: parts.dropFirst().map(String.init))
  }

  /// The value of `traceparent`.
  public var parent: String {
    String(unsafeUninitializedCapacity: Self.parentSizeBytes) { text in
      for at in [0, 1, 53] { text[at] = UInt8(ascii: "0") }
      for at in [2, 35, 52] { text[at] = UInt8(ascii: "-") }
      HexadecimalDigits(traceIDHigh).write(to: text, at: 3)
      HexadecimalDigits(traceIDLow).write(to: text, at: 19)
      HexadecimalDigits(spanID).write(to: text, at: 36)
      text[54] = isSampled ? UInt8(ascii: "1") : UInt8(ascii: "0")
      return Self.parentSizeBytes
    }
  }

  /// The `traceparent`, followed by a space and the `tracestate` if there is one: the form stored in the database.
  public var text: String { state.isEmpty ? parent : "\(parent) \(state)" }

  /// The trace's id as 32 hexadecimal digits.
  public var traceID: String {
    String(unsafeUninitializedCapacity: 32) { text in
      HexadecimalDigits(traceIDHigh).write(to: text, at: 0)
      HexadecimalDigits(traceIDLow).write(to: text, at: 16)
      return 32
    }
  }

  /// Parses lower-case hexadecimal digits only, as section 3.2.2 requires.
  private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt64? {
    var value: UInt64 = 0
    for digit in digits {
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(digit - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
      default: return nil
      }
    }
    return value
  }

  private static func checked(_ values: [String]) -> String {
    let state = values.filter { !$0.isEmpty }.joined(separator: ",")
    guard state.utf8.count <= stateBytesMax, state.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else { return "" }
    return state
  }
}
