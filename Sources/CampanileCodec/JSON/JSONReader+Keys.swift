extension JSONReader {
  /// Reads an `int32`, `sint32` or `sfixed32` key of a map, and the colon.
  public mutating func int32Key() throws(ProtoJSONError) -> Int32 {
    guard let value = Int32(exactly: try int64Key()) else { throw keyFailure(.outOfRange, "the key is outside int32") }
    return value
  }

  /// Reads a `uint32` or `fixed32` key of a map, and the colon.
  public mutating func uint32Key() throws(ProtoJSONError) -> UInt32 {
    guard let value = UInt32(exactly: try uint64Key()) else {
      throw keyFailure(.outOfRange, "the key is outside uint32")
    }
    return value
  }

  /// Reads an `int64`, `sint64` or `sfixed64` key of a map, and the colon.
  public mutating func int64Key() throws(ProtoJSONError) -> Int64 {
    let (negative, magnitude) = try integerKey()
    guard magnitude <= UInt64(Int64.max) + (negative ? 1 : 0) else {
      throw keyFailure(.outOfRange, "the key is outside int64")
    }
    return Int64(truncatingIfNeeded: negative ? 0 &- magnitude : magnitude)
  }

  /// Reads a `uint64` or `fixed64` key of a map, and the colon.
  public mutating func uint64Key() throws(ProtoJSONError) -> UInt64 {
    let (negative, magnitude) = try integerKey()
    guard !negative else { throw keyFailure(.outOfRange, "the key is outside uint64") }
    return magnitude
  }

  /// Reads a `bool` key of a map, `"true"` or `"false"`, and the colon.
  public mutating func boolKey() throws(ProtoJSONError) -> Bool {
    let name = try key()
    if name.count == 4, name.matches("true") { return true }
    if name.count == 5, name.matches("false") { return false }
    throw keyFailure(.invalidFormat, "the key is neither true nor false")
  }
}
