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
    var parent = parent
    guard let read = parent.withUTF8({ Self.read(UnsafeRawBufferPointer($0)) }) else { return nil }
    self = read
    self.state = Self.checked(state)
  }

  private static func read(_ bytes: UnsafeRawBufferPointer) -> TraceContext? {
    let dash = UInt8(ascii: "-")
    guard bytes.count >= parentSizeBytes, bytes[2] == dash, bytes[35] == dash, bytes[52] == dash,
      let version = number(bytes[0..<2]), version != 0xff,
      // A later version may have more behind another dash.
      bytes.count == parentSizeBytes || version > 0 && bytes[parentSizeBytes] == dash,
      let high = number(bytes[3..<19]), let low = number(bytes[19..<35]), high | low != 0,
      let spanID = number(bytes[36..<52]), spanID != 0, let flags = number(bytes[53..<55])
    else { return nil }
    return TraceContext(traceIDHigh: high, traceIDLow: low, spanID: spanID, isSampled: flags & 1 != 0)
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

  /// `traceparent`, and behind a space the `tracestate` if there is one: the form in which rows keep it.
  public var text: String { state.isEmpty ? parent : "\(parent) \(state)" }

  /// 32 hexadecimal digits.
  public var traceID: String {
    String(unsafeUninitializedCapacity: 32) { text in
      HexadecimalDigits(traceIDHigh).write(to: text, at: 0)
      HexadecimalDigits(traceIDLow).write(to: text, at: 16)
      return 32
    }
  }

  /// Puts it into the metadata of a call, in the place of what is there.
  public func put(into metadata: inout Metadata) {
    metadata.set(parent, for: Self.parentKey)
    if !state.isEmpty { metadata.set(state, for: Self.stateKey) }
  }

  /// Lower-case digits alone, as section 3.2.2 wants.
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

/// The context of a call as a gateway adds it to metadata: the member `"traceparent":"…"` and a comma.
extension TraceContext {
  private static let memberHead = Array("\"\(parentKey)\":\"".utf8)
  private static let memberSizeBytes = memberHead.count + parentSizeBytes + 2

  /// Appends it to metadata that is being written.
  public func appendMember(to bytes: inout [UInt8]) {
    bytes.append(contentsOf: Self.memberHead)
    bytes.append(contentsOf: parent.utf8)
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ","))
  }

  /// Where it begins in the beginning of a JSON object that ends with it; `nil` for every other one.
  ///
  /// A quote behind a comma or a brace stands outside of every string, so the member is one.
  static func start(in text: Slice<UnsafeRawBufferPointer>) -> Int? {
    let start = text.endIndex - memberSizeBytes
    guard start > text.startIndex, text[text.endIndex - 1] == UInt8(ascii: ","),
      text[text.endIndex - 2] == UInt8(ascii: "\""),
      text[start - 1] == UInt8(ascii: ",") || text[start - 1] == UInt8(ascii: "{"),
      text[start..<start + memberHead.count].elementsEqual(memberHead),
      text[(start + memberHead.count)...].prefix(parentSizeBytes).allSatisfy(RequestID.isPlain)
    else { return nil }
    return start
  }

  /// Its value. `start` is what `start(in:)` answered for the same object.
  static func parent(_ object: UnsafeRawBufferPointer, memberAt start: Int) -> String {
    String(decoding: object[(start + memberHead.count)...].prefix(parentSizeBytes), as: UTF8.self)
  }
}
