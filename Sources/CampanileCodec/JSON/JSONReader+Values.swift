import CampanileBase

extension JSONReader {
  /// Reads an enum: a name, or any number, because enums are open. An unknown name has the number `unknownEnumNumber`.
  @inlinable
  public mutating func enumeration<E: ProtoEnum>(_ type: E.Type) throws(ProtoJSONError) -> E {
    guard peek() == UInt8(ascii: "\"") else { return E(rawValue: try int32()) }
    return E(rawValue: E.number(named: try enumName()) ?? Self.unknownEnumNumber)
  }

  @inlinable
  mutating func enumName() throws(ProtoJSONError) -> JSONName {
    let first = position + 1
    let stop = JSONBytes.firstSpecial(first, end)
    if stop < end, stop.pointee == UInt8(ascii: "\"") {
      position = stop + 1
      return JSONName(start: first, count: stop - first)
    }
    return try keyWithEscapes()
  }

  /// Reads `bytes`: base64 or base64url (RFC 4648), with or without padding.
  public mutating func bytes() throws(ProtoJSONError) -> [UInt8] {
    guard peek() == UInt8(ascii: "\"") else { throw wrongType("a string") }
    let place = position
    let name = try enumName()
    guard let value = Base64.decode(UnsafeBufferPointer(start: name.start, count: name.count)) else {
      throw failure(.invalidFormat, "the string is not base64", at: place)
    }
    return value
  }

  /// Consumes a string and passes its bytes, with escapes resolved, to `parse`. Throws `INVALID_FORMAT` if that returns
  /// nil.
  mutating func parsedString<T>(
    _ expected: String, _ parse: (UnsafeBufferPointer<UInt8>) -> T?
  ) throws(ProtoJSONError) -> T {
    guard peek() == UInt8(ascii: "\"") else { throw wrongType(expected) }
    let place = position
    let name = try enumName()
    guard let value = parse(UnsafeBufferPointer(start: name.start, count: name.count)) else {
      throw failure(.invalidFormat, "expected \(expected)", at: place)
    }
    return value
  }

  /// Consumes one value of any type and returns its unchanged text. Checks grammar, UTF-8, depth, that numbers are
  /// within double, and that no object contains a key twice.
  public mutating func rawValue() throws(ProtoJSONError) -> String {
    _ = peek()
    let first = position
    try skip(strict: true)
    return Self.string(validated: UnsafeBufferPointer(start: first, count: position - first))
  }

  /// Consumes one value of any type. Checks it as `rawValue()` does, except for the range of numbers and repeated keys.
  public mutating func skipValue() throws(ProtoJSONError) {
    try skip(strict: false)
  }

  private mutating func skip(strict: Bool) throws(ProtoJSONError) {
    switch peek() {
    case UInt8(ascii: "{"): try skipObject(strict: strict)
    case UInt8(ascii: "["):
      var more = try beginArray()
      while more {
        try skip(strict: strict)
        more = try nextElement()
      }
    case UInt8(ascii: "\""): try skipString()
    case UInt8(ascii: "t"): try literal("true")
    case UInt8(ascii: "f"): try literal("false")
    case UInt8(ascii: "n"): try literal("null")
    default:
      numberStart = position
      let text = try numberText("a value")
      guard !strict || DecimalText(text).double()?.isFinite == true else {
        throw numberFailure(.outOfRange, "the number is outside double")
      }
    }
  }

  // Recursion is bounded by `depthLeft`.
  private mutating func skipObject(strict: Bool) throws(ProtoJSONError) {
    // Compares bytes, because strings that differ only in Unicode normalization are equal in Swift but not in JSON.
    var keys: Set<[UInt8]> = []
    var more = try beginObject()
    while more {
      if strict {
        let name = try key()
        let bytes = Array(UnsafeBufferPointer(start: name.start, count: name.count))
        if !keys.insert(bytes).inserted { throw keyFailure(.duplicateField, "the object contains this key twice") }
      } else {
        _ = try key()
      }
      try skip(strict: strict)
      more = try nextMember()
    }
  }

  private mutating func skipString() throws(ProtoJSONError) {
    let (raw, escaped) = try rawString()
    if escaped { try unescape(raw) }
  }
}
