extension JSONValue {
  /// Returns the value as a JSON text without white space. Numbers and strings retain their original notation.
  public func serialised() -> [UInt8] {
    var bytes: [UInt8] = []
    serialise(into: &bytes)
    return bytes
  }

  /// Appends the value to `bytes` as a JSON text without white space.
  public func serialise(into bytes: inout [UInt8]) {
    switch self {
    case .null: bytes.append(contentsOf: "null".utf8)
    case .bool(let value): bytes.append(contentsOf: value ? "true".utf8 : "false".utf8)
    case .number(let number): bytes.append(text: number.text)
    case .string(let string): string.serialise(into: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        element.serialise(into: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let object):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in object.members.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        member.name.serialise(into: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.serialise(into: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  /// Returns the size of `serialised`; nil if it exceeds `limit`. Visits at most that many bytes.
  func sizeBytes(atMost limit: Int) -> Int? {
    var left = limit
    return take(from: &left) ? limit - left : nil
  }

  private func take(from left: inout Int) -> Bool {
    switch self {
    case .null: left -= 4
    case .bool(let value): left -= value ? 4 : 5
    case .number(let number): left -= number.text.utf8.count
    case .string(let string): left -= string.raw.utf8.count + 2
    case .array(let elements):
      left -= 2 + max(0, elements.count - 1)
      for element in elements where left < 0 || !element.take(from: &left) { return false }
    case .object(let object):
      left -= 2 + max(0, object.members.count - 1)
      for member in object.members {
        left -= member.name.raw.utf8.count + 3
        if left < 0 || !member.value.take(from: &left) { return false }
      }
    }
    return left >= 0
  }

  /// Returns the nesting depth of arrays and objects; nil if it exceeds `limit`.
  func depth(atMost limit: Int) -> Int? {
    var deepest = 0
    let children: [JSONValue]
    switch self {
    case .array(let elements): children = elements
    case .object(let object): children = object.members.map(\.value)
    default: return 0
    }
    guard limit > 0 else { return nil }
    for child in children {
      guard let depth = child.depth(atMost: limit - 1) else { return nil }
      deepest = max(deepest, depth)
    }
    return deepest + 1
  }
}

extension JSONString {
  func serialise(into bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    bytes.append(text: raw)
    bytes.append(UInt8(ascii: "\""))
  }
}

extension [UInt8] {
  /// Appends a text in UTF-8, in one copy if its storage is contiguous.
  fileprivate mutating func append(text: String) {
    if text.utf8.withContiguousStorageIfAvailable({ append(contentsOf: $0) }) == nil { append(contentsOf: text.utf8) }
  }
}
