/// Where in a trace something happens, as W3C Trace Context carries it from one process to the next.
public struct TraceContext: Sendable, Hashable {
  /// The trace's 16 bytes, not all zero.
  public var traceIDHigh: UInt64
  public var traceIDLow: UInt64
  /// The span that what follows is part of; not zero.
  public var spanID: UInt64
  /// Whether its spans are recorded.
  public var isSampled: Bool
  /// What other vendors want to be passed on (`tracestate`); at most `stateBytesMax` bytes of printable ASCII.
  public var state: String

  /// The metadata keys, which are the names of the HTTP headers.
  public static let parentKey = "traceparent"
  public static let stateKey = "tracestate"
  /// The length that W3C Trace Context section 3.3.1.5 wants to be passed on at least. A longer state is dropped whole.
  public static let stateBytesMax = 512
  /// The length of a `traceparent` of version 00.
  public static let parentSizeBytes = 55

  public init(traceIDHigh: UInt64, traceIDLow: UInt64, spanID: UInt64, isSampled: Bool, state: String = "") {
    self.traceIDHigh = traceIDHigh
    self.traceIDLow = traceIDLow
    self.spanID = spanID
    self.isSampled = isSampled
    self.state = state
  }

  /// Reads a `traceparent` (W3C Trace Context section 3.2) and the values of `tracestate`; `nil` for what is no `traceparent`.
  public init?(parent: String, state: [String] = []) {
    let bytes = Array(parent.utf8.prefix(Self.parentSizeBytes + 1))
    let dash = UInt8(ascii: "-")
    guard bytes.count >= Self.parentSizeBytes, bytes[2] == dash, bytes[35] == dash, bytes[52] == dash,
      let version = Self.number(bytes[0..<2]), version != 0xff,
      // A later version may have more behind another dash.
      bytes.count == Self.parentSizeBytes || version > 0 && bytes[Self.parentSizeBytes] == dash,
      let high = Self.number(bytes[3..<19]), let low = Self.number(bytes[19..<35]), high | low != 0,
      let spanID = Self.number(bytes[36..<52]), spanID != 0, let flags = Self.number(bytes[53..<55])
    else { return nil }
    self.init(
      traceIDHigh: high, traceIDLow: low, spanID: spanID, isSampled: flags & 1 != 0, state: Self.checked(state))
  }

  /// Reads what `text` wrote.
  public init?(text: String) {
    let parts = text.split(separator: " ", maxSplits: 1)
    guard let parent = parts.first else { return nil }
    self.init(parent: String(parent), state: parts.dropFirst().map(String.init))
  }

  /// Reads a call's metadata.
  public init?(_ metadata: Metadata) {
    guard let parent = metadata[Self.parentKey] else { return nil }
    self.init(parent: parent, state: metadata.values(Self.stateKey))
  }

  /// The `traceparent`.
  public var parent: String {
    "00-\(traceID)-\(Self.hexadecimal(spanID))-0\(isSampled ? 1 : 0)"
  }

  /// `traceparent`, and behind a space the `tracestate` if there is one: the form in which rows keep it.
  public var text: String { state.isEmpty ? parent : "\(parent) \(state)" }

  /// 32 hexadecimal digits.
  public var traceID: String { Self.hexadecimal(traceIDHigh) + Self.hexadecimal(traceIDLow) }

  /// Puts it into the metadata of a call, in the place of what is there.
  public func put(into metadata: inout Metadata) {
    metadata.set(parent, for: Self.parentKey)
    if !state.isEmpty { metadata.set(state, for: Self.stateKey) }
  }

  /// 16 digits.
  public static func hexadecimal(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Lower-case digits alone, as section 3.2.2 wants.
  private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
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
