extension JSONReader {
  /// Reads a string.
  @inlinable
  public mutating func string() throws(ProtoJSONError) -> String {
    guard peek() == UInt8(ascii: "\"") else { throw wrongType("a string") }
    let first = position + 1
    let stop = JSONBytes.firstSpecial(first, end)
    if stop < end, stop.pointee == UInt8(ascii: "\"") {
      position = stop + 1
      return Self.string(ascii: first, count: stop - first)
    }
    return try stringSlow()
  }

  @inlinable
  @inline(__always)
  static func string(ascii start: UnsafePointer<UInt8>, count: Int) -> String {
    let bytes = UnsafeBufferPointer(start: start, count: count)
    // Always true on the suite's own systems; the client package also supports older ones.
    guard #available(iOS 26, macOS 26, tvOS 26, visionOS 26, watchOS 26, *) else {
      return String(decoding: bytes, as: UTF8.self)
    }
    return String(copying: UTF8Span(unchecked: bytes.span, isKnownASCII: true))
  }

  /// Creates a string from bytes that `rawString`, `key` or `skip` have verified to be UTF-8.
  static func string(validated bytes: UnsafeBufferPointer<UInt8>) -> String {
    guard #available(iOS 26, macOS 26, tvOS 26, visionOS 26, watchOS 26, *) else {
      return String(decoding: bytes, as: UTF8.self)
    }
    return String(copying: UTF8Span(unchecked: bytes.span))
  }

  /// Reads a string key of a map, and the colon.
  public mutating func stringKey() throws(ProtoJSONError) -> String {
    let name = try key()
    return Self.string(validated: UnsafeBufferPointer(start: name.start, count: name.count))
  }

  @usableFromInline
  @inline(never)
  mutating func stringSlow() throws(ProtoJSONError) -> String {
    let (raw, escaped) = try rawString()
    if !escaped { return Self.string(validated: raw) }
    try unescape(raw)
    return String(decoding: scratch, as: UTF8.self)
  }

  /// Reads a name at `position` that contains escapes or is not ASCII.
  @usableFromInline
  @inline(never)
  mutating func keyWithEscapes() throws(ProtoJSONError) -> JSONName {
    let (raw, escaped) = try rawString()
    if !escaped, let base = raw.baseAddress {
      return JSONName(start: base, count: raw.count)
    }
    return try unescapedName(raw)
  }

  /// Resolves the escapes of `raw` and returns the name, in memory that the reader owns.
  mutating func unescapedName(_ raw: UnsafeBufferPointer<UInt8>) throws(ProtoJSONError) -> JSONName {
    try unescape(raw)
    scratchKey?.deallocate()
    // One extra byte, so that an empty name has an address as well.
    let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: scratch.count + 1)
    _ = copy.initialize(from: scratch + [0])
    scratchKey = copy
    return copy.baseAddress.map { JSONName(start: UnsafePointer($0), count: copy.count - 1) }
      ?? JSONName(start: end, count: 0)
  }

  /// Consumes the next string and returns the bytes between its quotes, verified to be UTF-8 without control bytes.
  ///
  /// `escaped` is true if there are backslashes; `unescape` checks the escapes.
  mutating func rawString() throws(ProtoJSONError) -> (raw: UnsafeBufferPointer<UInt8>, escaped: Bool) {
    guard peek() == UInt8(ascii: "\"") else { throw wrongType("a string") }
    let first = position + 1
    var next = first
    var escaped = false
    while true {
      next = JSONBytes.firstDelimiter(next, end)
      guard next < end else { throw failure(.syntax, "the string does not end") }
      if next.pointee == UInt8(ascii: "\"") { break }
      guard next.pointee == UInt8(ascii: "\\") else {
        throw failure(.syntax, "a control character in a string must be escaped", at: next)
      }
      escaped = true
      guard end - next >= 2 else { throw failure(.syntax, "the string does not end") }
      next += 2
    }
    if let bad = JSONBytes.firstInvalidUTF8(first, next) {
      throw failure(.invalidUTF8, "the string is not UTF-8", at: bad)
    }
    position = next + 1
    return (UnsafeBufferPointer(start: first, count: next - first), escaped)
  }

  /// Stores the string with the raw bytes `raw` in `scratch`, with its escapes resolved.
  mutating func unescape(_ raw: UnsafeBufferPointer<UInt8>) throws(ProtoJSONError) {
    scratch.removeAll(keepingCapacity: true)
    scratch.reserveCapacity(raw.count)
    var index = 0
    while index < raw.count {
      let byte = raw[index]
      if byte != UInt8(ascii: "\\") {
        scratch.append(byte)
        index += 1
        continue
      }
      index = try escape(raw, at: index)
    }
  }

  /// Appends the escape at `index` to `scratch` and returns the index after it.
  private mutating func escape(_ raw: UnsafeBufferPointer<UInt8>, at index: Int) throws(ProtoJSONError) -> Int {
    guard index + 1 < raw.count else { throw invalidEscape(raw, index) }
    switch raw[index + 1] {
    case UInt8(ascii: "\""): scratch.append(UInt8(ascii: "\""))
    case UInt8(ascii: "\\"): scratch.append(UInt8(ascii: "\\"))
    case UInt8(ascii: "/"): scratch.append(UInt8(ascii: "/"))
    case UInt8(ascii: "b"): scratch.append(0x08)
    case UInt8(ascii: "f"): scratch.append(0x0C)
    case UInt8(ascii: "n"): scratch.append(0x0A)
    case UInt8(ascii: "r"): scratch.append(0x0D)
    case UInt8(ascii: "t"): scratch.append(0x09)
    case UInt8(ascii: "u"): return try unicodeEscape(raw, at: index)
    default: throw invalidEscape(raw, index)
    }
    return index + 2
  }

  private mutating func unicodeEscape(
    _ raw: UnsafeBufferPointer<UInt8>, at index: Int
  ) throws(ProtoJSONError) -> Int {
    guard let unit = Self.hex4(raw, index + 2) else { throw invalidEscape(raw, index) }
    if let scalar = UnicodeScalar(unit) {
      scratch.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
      return index + 6
    }
    // RFC 8259, section 7: a high and a low surrogate together encode a character; a lone surrogate does not.
    guard unit < 0xDC00, index + 7 < raw.count, raw[index + 6] == UInt8(ascii: "\\"),
      raw[index + 7] == UInt8(ascii: "u"), let low = Self.hex4(raw, index + 8), (0xDC00...0xDFFF).contains(low),
      let scalar = UnicodeScalar(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
    else {
      let place = raw.baseAddress.map { $0 + index } ?? position
      throw failure(.loneSurrogate, "the escape is half of a surrogate pair", at: place)
    }
    scratch.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
    return index + 12
  }

  private func invalidEscape(_ raw: UnsafeBufferPointer<UInt8>, _ index: Int) -> ProtoJSONError {
    failure(.syntax, "invalid escape", at: raw.baseAddress.map { $0 + index } ?? position)
  }

  /// Returns the value of the four hexadecimal digits at `index`.
  private static func hex4(_ raw: UnsafeBufferPointer<UInt8>, _ index: Int) -> UInt32? {
    guard index + 4 <= raw.count else { return nil }
    var value: UInt32 = 0
    for digit in raw[index..<(index + 4)] {
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt32(digit - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt32(digit - UInt8(ascii: "a") + 10)
      case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt32(digit - UInt8(ascii: "A") + 10)
      default: return nil
      }
    }
    return value
  }
}
