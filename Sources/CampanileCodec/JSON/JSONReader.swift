/// Reads JSON (RFC 8259) from bytes, value by value, at the request of generated messages.
///
/// It points into memory that the caller must keep alive and unchanged. The contents of that memory cannot cause a
/// trap: every fault is a `ProtoJSONError` with its byte offset, and `JSONDecodingOptions.maxDepth` limits the nesting.
public struct JSONReader: ~Copyable {
  @usableFromInline let start: UnsafePointer<UInt8>
  @usableFromInline let end: UnsafePointer<UInt8>
  @usableFromInline var position: UnsafePointer<UInt8>
  /// The start of the latest key.
  @usableFromInline var keyStart: UnsafePointer<UInt8>
  /// The start of the latest number.
  @usableFromInline var numberStart: UnsafePointer<UInt8>
  @usableFromInline var depthLeft: Int
  /// The latest key or string with escapes, resolved.
  var scratch: [UInt8] = []
  /// A copy of `scratch` to which a name points. Its memory is valid until the next such name.
  var scratchKey: UnsafeMutableBufferPointer<UInt8>?
  /// The number of an enum value whose name the contract lacks: −2^31, which no proto may use.
  ///
  /// Encoding writes it as a number, because the name is not kept.
  @inlinable public static var unknownEnumNumber: Int32 { .min }

  // The target of an empty buffer, which may have no address.
  private static let nothing: StaticString = "\0"

  /// Creates a reader of `bytes`, which must outlive it.
  public init(_ bytes: UnsafeRawBufferPointer, options: JSONDecodingOptions = .init()) {
    let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    start = base ?? Self.nothing.utf8Start
    end = start + (base == nil ? 0 : bytes.count)
    position = start
    keyStart = start
    numberStart = start
    depthLeft = max(0, options.maxDepth)
  }

  deinit {
    scratchKey?.deallocate()
  }

  /// The number of bytes read.
  @inlinable public var byteOffset: Int { position - start }

  /// Checks that only white space is left.
  @inlinable
  public mutating func finish() throws(ProtoJSONError) {
    _ = peek()
    if position != end { throw failure(.trailingBytes, "unexpected text after the value") }
  }

  /// Skips white space and returns the next byte without consuming it; 0 at the end (JSON cannot contain that byte).
  @inlinable
  @inline(__always)
  public mutating func peek() -> UInt8 {
    if position < end {
      let byte = position.pointee
      if byte > 0x20 { return byte }
    }
    return peekAfterWhitespace()
  }

  @usableFromInline
  @inline(never)
  mutating func peekAfterWhitespace() -> UInt8 {
    while position < end {
      switch position.pointee {
      case 0x20, 0x0A, 0x0D, 0x09: position += 1
      default: return position.pointee
      }
    }
    return 0
  }

  /// Consumes `null` if it is next.
  @inlinable
  @inline(__always)
  public mutating func null() throws(ProtoJSONError) -> Bool {
    if peek() != UInt8(ascii: "n") { return false }
    try literal("null")
    return true
  }

  /// Reads `true` or `false`.
  @inlinable
  public mutating func bool() throws(ProtoJSONError) -> Bool {
    switch peek() {
    case UInt8(ascii: "t"):
      try literal("true")
      return true
    case UInt8(ascii: "f"):
      try literal("false")
      return false
    default: throw wrongType("true or false")
    }
  }

  @usableFromInline
  mutating func literal(_ text: StaticString) throws(ProtoJSONError) {
    guard end - position >= text.utf8CodeUnitCount,
      JSONBytes.equal(position, text.utf8Start, count: text.utf8CodeUnitCount)
    else { throw failure(.syntax, "expected \(text)") }
    position += text.utf8CodeUnitCount
  }
}

// MARK: - Objects and arrays

extension JSONReader {
  /// Consumes `{`. Returns whether the object has members; an empty one is consumed entirely.
  @inlinable
  public mutating func beginObject() throws(ProtoJSONError) -> Bool {
    guard peek() == UInt8(ascii: "{") else { throw wrongType("an object") }
    return try open(UInt8(ascii: "}"))
  }

  /// Consumes `[`. Returns whether the array has elements; an empty one is consumed entirely.
  @inlinable
  public mutating func beginArray() throws(ProtoJSONError) -> Bool {
    guard peek() == UInt8(ascii: "[") else { throw wrongType("an array") }
    return try open(UInt8(ascii: "]"))
  }

  @inlinable
  @inline(__always)
  mutating func open(_ closing: UInt8) throws(ProtoJSONError) -> Bool {
    if depthLeft == 0 { throw failure(.depthExceeded, "nested too deeply") }
    position += 1
    if peek() == closing {
      position += 1
      return false
    }
    depthLeft &-= 1
    return true
  }

  /// Consumes the separator after a member: `,` (returns true) or `}` (returns false).
  @inlinable
  @inline(__always)
  public mutating func nextMember() throws(ProtoJSONError) -> Bool {
    try next(UInt8(ascii: "}"))
  }

  /// Consumes the separator after an element: `,` (returns true) or `]` (returns false).
  @inlinable
  @inline(__always)
  public mutating func nextElement() throws(ProtoJSONError) -> Bool {
    try next(UInt8(ascii: "]"))
  }

  @inlinable
  @inline(__always)
  mutating func next(_ closing: UInt8) throws(ProtoJSONError) -> Bool {
    let byte = peek()
    if byte == UInt8(ascii: ",") {
      position += 1
      return true
    }
    if byte != closing { throw unexpected(closing) }
    position += 1
    depthLeft &+= 1
    return false
  }

  /// Reads a member's key and the colon. The name points into the text, or into memory that the next key overwrites.
  @inlinable
  public mutating func key() throws(ProtoJSONError) -> JSONName {
    guard peek() == UInt8(ascii: "\"") else { throw failure(.syntax, "expected a member's name") }
    keyStart = position
    let first = position + 1
    let stop = JSONBytes.firstSpecial(first, end)
    let name: JSONName
    if stop < end, stop.pointee == UInt8(ascii: "\"") {
      position = stop + 1
      name = JSONName(start: first, count: stop - first)
    } else {
      name = try keyWithEscapes()
    }
    if peek() != UInt8(ascii: ":") { throw failure(.syntax, "expected ':'") }
    position += 1
    return name
  }

  /// Records that the field at `index` of a message occurs; `seen` has a bit for each of 64 fields.
  ///
  /// - Throws: `DUPLICATE_FIELD` if it has already occurred.
  @inlinable
  @inline(__always)
  public mutating func accept(_ index: Int, _ seen: inout UInt64) throws(ProtoJSONError) {
    let bit: UInt64 = 1 &<< UInt64(truncatingIfNeeded: index)
    if seen & bit != 0 { throw keyFailure(.duplicateField, "the field occurs twice") }
    seen |= bit
  }

  /// Records that the field at `index` of a message occurs, and returns `index` if its value is to be read. Returns -1
  /// after a null and after the value of an unknown field, whose index is negative.
  ///
  /// - Throws: `DUPLICATE_FIELD` if the field has already occurred.
  @inlinable
  @inline(__always)
  public mutating func field(_ index: Int, _ seen: inout UInt64) throws(ProtoJSONError) -> Int {
    if index < 0 {
      try skipValue()
      return -1
    }
    try accept(index, &seen)
    return try null() ? -1 : index
  }

  /// Returns the error for a member whose `oneof` already has another member.
  @inline(never)
  public func oneofConflict() -> ProtoJSONError {
    keyFailure(.oneofConflict, "another member of the same oneof is set")
  }

  /// Returns the error for a key that the map already contains.
  @inline(never)
  public func duplicateKey() -> ProtoJSONError {
    keyFailure(.duplicateField, "the map contains this key twice")
  }
}

// MARK: - Errors

extension JSONReader {
  @usableFromInline
  @inline(never)
  func failure(_ code: ProtoJSONError.Code, _ detail: String) -> ProtoJSONError {
    ProtoJSONError(code, detail, byteOffset: position - start)
  }

  @usableFromInline
  @inline(never)
  func failure(_ code: ProtoJSONError.Code, _ detail: String, at place: UnsafePointer<UInt8>) -> ProtoJSONError {
    ProtoJSONError(code, detail, byteOffset: place - start)
  }

  @usableFromInline
  @inline(never)
  func keyFailure(_ code: ProtoJSONError.Code, _ detail: String) -> ProtoJSONError {
    ProtoJSONError(code, detail, byteOffset: keyStart - start)
  }

  /// Returns the error for a next value that is not `expected`: it has another type, or is not JSON.
  @usableFromInline
  @inline(never)
  func wrongType(_ expected: String) -> ProtoJSONError {
    guard position < end else { return failure(.syntax, "the text ends where \(expected) should be") }
    switch position.pointee {
    case UInt8(ascii: "\""), UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "-"),
      UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
      return failure(.wrongType, "expected \(expected)")
    default: return failure(.syntax, "expected \(expected)")
    }
  }

  @usableFromInline
  @inline(never)
  func unexpected(_ closing: UInt8) -> ProtoJSONError {
    failure(.syntax, "expected ',' or '\(Character(UnicodeScalar(closing)))'")
  }
}

/// The bytes of a member's name, without quotes and escapes. Valid until the reader's next read.
public struct JSONName {
  public let start: UnsafePointer<UInt8>
  public let count: Int

  @inlinable
  @inline(__always)
  public init(start: UnsafePointer<UInt8>, count: Int) {
    self.start = start
    self.count = count
  }

  /// Returns whether the name is `text`, which must have `count` bytes: the caller has already compared the lengths.
  @inlinable
  @inline(__always)
  public func matches(_ text: StaticString) -> Bool {
    JSONBytes.equal(start, text.utf8Start, count: text.utf8CodeUnitCount)
  }
}
