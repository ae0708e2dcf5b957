import Foundation

/// Writes numbers in little endian, and texts and bytes with their length.
struct ByteWriter {
  private(set) var bytes: [UInt8] = []

  mutating func integer<N: FixedWidthInteger>(_ value: N) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func blob(_ value: [UInt8]) {
    integer(UInt32(truncatingIfNeeded: value.count))
    bytes += value
  }

  mutating func text(_ value: String) { blob(Array(value.utf8)) }
}

/// Reads what `ByteWriter` writes. Each function returns `nil` if the bytes end too early.
struct ByteReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
    guard count >= 0, rest.count >= count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  mutating func integer<N: FixedWidthInteger>(_ type: N.Type) -> N? {
    take(MemoryLayout<N>.size)?.reversed().reduce(0) { $0 << 8 | N(truncatingIfNeeded: $1) }
  }

  mutating func blob() -> [UInt8]? { integer(UInt32.self).flatMap { take(Int($0)) }.map(Array.init) }

  mutating func text() -> String? { blob().flatMap { String(bytes: $0, encoding: .utf8) } }
}

/// The checksum of zip, gzip and Ethernet (ISO 3309).
enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
  }

  static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    ~bytes.reduce(~0) { sum, byte in sum >> 8 ^ table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] }
  }
}
