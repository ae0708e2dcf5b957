/// Reads JSON (RFC 8259) from bytes, one value after the other, as the generated messages ask for them.
///
/// It points into memory that the caller keeps alive and unchanged while the reader exists. Nothing in that memory can make it
/// trap: every mistake is a `ProtoJSONError` with its byte offset, and nesting is bounded by `JSONDecodingOptions.maxDepth`.
public struct JSONReader: ~Copyable {
  @usableFromInline let start: UnsafePointer<UInt8>
  @usableFromInline let end: UnsafePointer<UInt8>
  @usableFromInline var position: UnsafePointer<UInt8>
  /// Where the key read last begins.
  @usableFromInline var keyStart: UnsafePointer<UInt8>
  /// Where the number read last begins.
  @usableFromInline var numberStart: UnsafePointer<UInt8>
  @usableFromInline var depthLeft: Int
  /// Holds the last key or string that has escapes.
  var scratch: [UInt8] = []
  /// The bytes of `scratch` as a name points at them. Its memory is kept until the next one is needed.
  var scratchKey: UnsafeMutableBufferPointer<UInt8>?
  /// Whether members that a message does not have are skipped.
  public let ignoresUnknownFields: Bool

  // What an empty buffer, which may have no address, points at.
  private static let nothing: StaticString = "\0"

  /// A reader over `bytes`, which must outlive it.
  public init(_ bytes: UnsafeRawBufferPointer, options: JSONDecodingOptions = .init()) {
    let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    start = base ?? Self.nothing.utf8Start
    end = start + (base == nil ? 0 : bytes.count)
    position = start
    keyStart = start
    numberStart = start
    depthLeft = max(0, options.maxDepth)
    ignoresUnknownFields = options.ignoreUnknownFields
  }

  deinit {
    scratchKey?.deallocate()
  }

  /// How many bytes are read.
  @inlinable public var byteOffset: Int { position - start }

  /// Checks that nothing but white space is left.
  @inlinable
  public mutating func finish() throws(ProtoJSONError) {
    _ = peek()
    if position != end { throw failure(.trailingBytes, "something follows the value") }
  }

  /// Skips white space and returns the next byte without consuming it; 0 at the end (a text cannot contain that byte).
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
  /// Consumes `{`. Returns whether the object has members; an empty one is consumed whole.
  @inlinable
  public mutating func beginObject() throws(ProtoJSONError) -> Bool {
    guard peek() == UInt8(ascii: "{") else { throw wrongType("an object") }
    return try open(UInt8(ascii: "}"))
  }

  /// Consumes `[`. Returns whether the array has elements; an empty one is consumed whole.
  @inlinable
  public mutating func beginArray() throws(ProtoJSONError) -> Bool {
    guard peek() == UInt8(ascii: "[") else { throw wrongType("an array") }
    return try open(UInt8(ascii: "]"))
  }

  @inlinable
  @inline(__always)
  mutating func open(_ closing: UInt8) throws(ProtoJSONError) -> Bool {
    if depthLeft == 0 { throw failure(.depthExceeded, "nested too deep") }
    position += 1
    if peek() == closing {
      position += 1
      return false
    }
    depthLeft &-= 1
    return true
  }

  /// Consumes what follows a member: `,` (returns true) or `}` (returns false).
  @inlinable
  @inline(__always)
  public mutating func nextMember() throws(ProtoJSONError) -> Bool {
    try next(UInt8(ascii: "}"))
  }

  /// Consumes what follows an element: `,` (returns true) or `]` (returns false).
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

  /// Takes note that the field at `index` of a message is there; `seen` has a bit for each of 64.
  ///
  /// - Throws: `DUPLICATE_FIELD` if it was there before.
  @inlinable
  @inline(__always)
  public mutating func accept(_ index: Int, _ seen: inout UInt64) throws(ProtoJSONError) {
    let bit: UInt64 = 1 &<< UInt64(truncatingIfNeeded: index)
    if seen & bit != 0 { throw keyFailure(.duplicateField, "the field is there twice") }
    seen |= bit
  }

  /// Skips the value of a member that the message does not have, or refuses it.
  @inline(never)
  public mutating func unknownField() throws(ProtoJSONError) {
    if !ignoresUnknownFields { throw keyFailure(.unknownField, "the message has no such field") }
    try skipValue()
  }

  /// Refuses the member read last because another member of its `oneof` is set.
  @inline(never)
  public func oneofConflict() -> ProtoJSONError {
    keyFailure(.oneofConflict, "another member of the same oneof is set")
  }

  /// Refuses the key read last because the map has it already.
  @inline(never)
  public func duplicateKey() -> ProtoJSONError {
    keyFailure(.duplicateField, "the map has this key twice")
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

  /// The value that is next is not `expected`: another type, or no JSON at all.
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

/// The bytes of a member's name, without quotes and escapes. Valid until its reader reads on.
public struct JSONName {
  public let start: UnsafePointer<UInt8>
  public let count: Int

  @inlinable
  @inline(__always)
  public init(start: UnsafePointer<UInt8>, count: Int) {
    self.start = start
    self.count = count
  }

  /// Whether it is `text`, which has `count` bytes: the caller has switched over that.
  @inlinable
  @inline(__always)
  public func matches(_ text: StaticString) -> Bool {
    JSONBytes.equal(start, text.utf8Start, count: text.utf8CodeUnitCount)
  }
}
