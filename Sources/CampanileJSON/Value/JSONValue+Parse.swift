extension JSONValue {
  /// Parses a JSON text (RFC 8259), with the checks of `JSONValidator`.
  ///
  /// Memory: at most about 40 times the size of the text, typically 3 times.
  ///
  /// - Throws: `JSONSyntaxError` with the position and the reason; `sizeExceeded` or `depthExceeded` beyond the limits.
  public static func parse(
    _ bytes: UnsafeRawBufferPointer, limits: JSONLimits = .init()
  ) throws(JSONSyntaxError) -> JSONValue {
    var scanner = JSONScanner(limits: limits, sink: ValueSink())
    try scanner.update(bytes)
    _ = try scanner.finish()
    return scanner.sink.result ?? .null
  }

  /// Parses a JSON text.
  public static func parse(_ bytes: [UInt8], limits: JSONLimits = .init()) throws(JSONSyntaxError) -> JSONValue {
    let result: Result<JSONValue, JSONSyntaxError> = bytes.withUnsafeBytes { raw in
      Result { () throws(JSONSyntaxError) in try parse(raw, limits: limits) }
    }
    return try result.get()
  }

  /// Parses a JSON text.
  public static func parse(_ text: String, limits: JSONLimits = .init()) throws(JSONSyntaxError) -> JSONValue {
    try parse(Array(text.utf8), limits: limits)
  }
}

/// Builds a value from the tokens of a text, without recursion.
struct ValueSink: TokenSink {
  private struct Level: Sendable {
    let isObject: Bool
    var elements: [JSONValue] = []
    var members: [JSONObject.Member] = []
    var name = JSONString("")
  }

  static var wantsContent: Bool { true }
  var isFinished: Bool { false }

  private(set) var result: JSONValue?
  private var levels: [Level] = []
  private var text: [UInt8] = []

  mutating func open(isObject: Bool, at offset: Int64) {
    levels.append(Level(isObject: isObject))
  }

  mutating func close(isObject: Bool, at offset: Int64) {
    guard let level = levels.popLast() else { return }
    add(isObject ? .object(JSONObject(level.members)) : .array(level.elements))
  }

  mutating func beginString(isName: Bool, at offset: Int64) {
    text.removeAll(keepingCapacity: true)
  }

  mutating func stringBytes(isName: Bool, _ bytes: UnsafeRawBufferPointer) {
    text.append(contentsOf: bytes)
  }

  mutating func endString(isName: Bool) {
    let string = JSONString(
      raw: String(decoding: text, as: UTF8.self), isEscaped: text.contains(UInt8(ascii: "\\")))
    if isName {
      if let top = levels.indices.last { levels[top].name = string }
    } else {
      add(.string(string))
    }
  }

  mutating func beginScalar(_ first: UInt8, at offset: Int64) {
    text.removeAll(keepingCapacity: true)
  }

  mutating func scalarBytes(_ bytes: UnsafeRawBufferPointer) {
    text.append(contentsOf: bytes)
  }

  mutating func endScalar() {
    switch text.first {
    case UInt8(ascii: "t"): add(.bool(true))
    case UInt8(ascii: "f"): add(.bool(false))
    case UInt8(ascii: "n"): add(.null)
    default: add(.number(JSONNumber(text: String(decoding: text, as: UTF8.self))))
    }
  }

  private mutating func add(_ value: JSONValue) {
    guard let top = levels.indices.last else { return result = value }
    if levels[top].isObject {
      levels[top].members.append(.init(name: levels[top].name, value: value))
    } else {
      levels[top].elements.append(value)
    }
  }
}
