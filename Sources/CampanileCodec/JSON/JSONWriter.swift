/// Writes JSON into one growable buffer, which is reused for the next text.
///
/// An object or array is ended with the offset of its beginning: `let object = writer.beginObject()`, then the members,
/// then `writer.endObject(object)`. Each member's name begins with a comma (`writer.name(",\"id\":")`). The first comma
/// is replaced by the opening brace, so that no member needs to know whether it is the first.
public struct JSONWriter: ~Copyable {
  @usableFromInline var base: UnsafeMutablePointer<UInt8>
  @usableFromInline var capacity: Int
  /// The number of bytes written.
  public internal(set) var count: Int {
    @inlinable @inline(__always) get { length }
    @inlinable @inline(__always) set { length = newValue }
  }
  @usableFromInline var length: Int

  /// Creates an empty writer with a capacity of `capacity` bytes.
  public init(capacity: Int = 512) {
    self.capacity = max(64, capacity)
    base = UnsafeMutablePointer<UInt8>.allocate(capacity: self.capacity)
    length = 0
  }

  deinit {
    base.deallocate()
  }

  /// Discards the text. If `keepingCapacity` is false, a buffer above 64 KiB is released.
  public mutating func removeAll(keepingCapacity: Bool = true) {
    length = 0
    if !keepingCapacity, capacity > 65536 {
      base.deallocate()
      capacity = 512
      base = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    }
  }

  /// Calls `body` with the written bytes, which are valid only during the call.
  @inlinable
  public borrowing func withUnsafeBytes<R, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> R
  ) throws(Failure) -> R {
    try body(UnsafeRawBufferPointer(start: base, count: length))
  }

  /// Ensures capacity for `extra` more bytes.
  @inlinable
  @inline(__always)
  public mutating func reserve(_ extra: Int) {
    if capacity &- length < extra { grow(extra) }
  }

  @usableFromInline
  @inline(never)
  mutating func grow(_ extra: Int) {
    let larger = max(capacity * 2, length + extra)
    let next = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
    next.update(from: base, count: length)
    base.deallocate()
    base = next
    capacity = larger
  }

  /// Appends bytes unchanged. The caller guarantees that they are valid JSON at this position.
  @inlinable
  public mutating func append(raw bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress else { return }
    reserve(bytes.count)
    UnsafeMutableRawPointer(base + length).copyMemory(from: source, byteCount: bytes.count)
    length &+= bytes.count
  }

  /// Appends a text unchanged.
  @inlinable
  @inline(__always)
  public mutating func append(raw text: StaticString) {
    let size = text.utf8CodeUnitCount
    reserve(size)
    UnsafeMutableRawPointer(base + length).copyMemory(from: text.utf8Start, byteCount: size)
    length &+= size
  }

  /// Appends a text unchanged.
  public mutating func append(raw text: String) {
    var copy = text
    copy.withUTF8 { append(raw: UnsafeRawBufferPointer($0)) }
  }

  /// Appends one byte unchanged.
  @inlinable
  @inline(__always)
  public mutating func append(_ byte: UInt8) {
    reserve(1)
    base[length] = byte
    length &+= 1
  }
}

// MARK: - Structure

extension JSONWriter {
  /// Begins an object. Returns the argument for `endObject`.
  @inlinable
  @inline(__always)
  public func beginObject() -> Int { length }

  /// Ends the object that begins at `start`.
  @inlinable
  @inline(__always)
  public mutating func endObject(_ start: Int) {
    close(start, UInt8(ascii: "{"), UInt8(ascii: "}"))
  }

  /// Begins an array; call `nextElement()` before each element. Returns the argument for `endArray`.
  @inlinable
  @inline(__always)
  public func beginArray() -> Int { length }

  /// Writes the comma before an element.
  @inlinable
  @inline(__always)
  public mutating func nextElement() { append(UInt8(ascii: ",")) }

  /// Ends the array that begins at `start`.
  @inlinable
  @inline(__always)
  public mutating func endArray(_ start: Int) {
    close(start, UInt8(ascii: "["), UInt8(ascii: "]"))
  }

  @inlinable
  @inline(__always)
  mutating func close(_ start: Int, _ opening: UInt8, _ closing: UInt8) {
    reserve(2)
    if start == length { length &+= 1 }
    base[start] = opening
    base[length] = closing
    length &+= 1
  }

  /// Writes a comma, a member's name and a colon, given literally: `,"id":`.
  @inlinable
  @inline(__always)
  public mutating func name(_ text: StaticString) { append(raw: text) }

  /// Writes a comma, a quoted key of a map, and a colon.
  public mutating func key(_ value: String) {
    append(UInt8(ascii: ","))
    string(value)
    append(UInt8(ascii: ":"))
  }

  /// Writes a comma, a quoted integer or boolean key of a map, and a colon.
  public mutating func key(_ value: some LosslessStringConvertible) {
    append(raw: ",\"")
    append(raw: value.description)
    append(raw: "\":")
  }
}

extension Dictionary where Key == String {
  /// The keys sorted by their UTF-8, the order in which a map is written.
  public var keysByUTF8: [String] {
    keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }
}
