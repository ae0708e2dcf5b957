import CampanileBase
import CampanileRPC

/// Iterates over the fields of one message in protobuf's binary form (protobuf.dev, "Encoding"). Never reads outside
/// the given bytes, even if the message is malformed.
struct ProtobufReader {
  enum Value: Sendable, Hashable {
    case varint(UInt64)
    case fixed64(UInt64)
    case fixed32(UInt32)
    /// The position of the bytes.
    case bytes(Range<Int>)
  }

  let bytes: UnsafeRawBufferPointer
  private(set) var index: Int
  let end: Int

  init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
    self.bytes = bytes
    index = range.lowerBound
    end = min(range.upperBound, bytes.count)
  }

  var isAtEnd: Bool { index >= end }

  /// Returns the next field, or nil at the end. Throws INVALID_ARGUMENT `BODY_NOT_PROTOBUF` for invalid bytes.
  mutating func next() throws(RPCError) -> (number: UInt64, value: Value)? {
    guard !isAtEnd else { return nil }
    let tag = try varint()
    let number = tag >> 3
    guard (1...0x1FFF_FFFF).contains(number) else { throw Self.invalid(index) }
    switch tag & 7 {
    case 0: return (number, .varint(try varint()))
    case 1: return (number, .fixed64(try fixed64()))
    case 2:
      let count = try varint()
      guard count <= UInt64(end - index) else { throw Self.invalid(index) }
      let range = index..<index + Int(count)
      index = range.upperBound
      return (number, .bytes(range))
    case 5: return (number, .fixed32(try fixed32()))
    default: throw Self.invalid(index)
    }
  }

  mutating func varint() throws(RPCError) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      guard index < end else { throw Self.invalid(index) }
      let byte = bytes[index]
      index += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
    }
    throw Self.invalid(index)
  }

  mutating func fixed64() throws(RPCError) -> UInt64 {
    guard end - index >= 8 else { throw Self.invalid(index) }
    defer { index += 8 }
    return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
  }

  mutating func fixed32() throws(RPCError) -> UInt32 {
    guard end - index >= 4 else { throw Self.invalid(index) }
    defer { index += 4 }
    return UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self))
  }

  static func invalid(_ offset: Int) -> RPCError {
    RPCError(
      .invalidArgument, "the message is not protobuf at byte \(offset)", reason: "BODY_NOT_PROTOBUF", processed: false)
  }
}
