/// Serialises a state: integers as 64 bits, little-endian; arrays preceded by their count.
struct StateWriter {
  /// The version of the format. Increment it with every change of the format.
  static let version: UInt8 = 1

  private(set) var bytes: [UInt8]

  init(kind: UInt8) {
    bytes = [Self.version, kind]
  }

  mutating func write(_ value: UInt64) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func write(_ value: Int) { write(UInt64(bitPattern: Int64(value))) }

  mutating func write(_ value: Bool) { bytes.append(value ? 1 : 0) }

  mutating func write(_ values: [UInt64]) {
    write(values.count)
    for value in values { write(value) }
  }

  mutating func write(_ value: [UInt8]) {
    write(value.count)
    bytes.append(contentsOf: value)
  }

  mutating func write(_ value: String) { write(Array(value.utf8)) }
}

/// Reads the output of a `StateWriter` from an untrusted source.
struct StateReader {
  let kind: UInt8
  private let bytes: [UInt8]
  private var position = 2

  init(_ bytes: [UInt8]) throws(JSONStateError) {
    guard bytes.count >= 2, bytes[0] == StateWriter.version else { throw JSONStateError() }
    kind = bytes[1]
    self.bytes = bytes
  }

  mutating func uint64() throws(JSONStateError) -> UInt64 {
    guard bytes.count - position >= 8 else { throw JSONStateError() }
    var value: UInt64 = 0
    for index in 0..<8 { value |= UInt64(bytes[position + index]) &<< UInt64(index * 8) }
    position += 8
    return value
  }

  /// Reads a number and checks that it is in `range`.
  mutating func int(in range: ClosedRange<Int>) throws(JSONStateError) -> Int {
    let value = Int(Int64(bitPattern: try uint64()))
    guard range.contains(value) else { throw JSONStateError() }
    return value
  }

  mutating func byte(upTo last: UInt8 = 255) throws(JSONStateError) -> UInt8 {
    UInt8(try int(in: 0...Int(last)))
  }

  mutating func bool() throws(JSONStateError) -> Bool {
    guard position < bytes.count, bytes[position] <= 1 else { throw JSONStateError() }
    position += 1
    return bytes[position - 1] == 1
  }

  mutating func uint64s(atMost limit: Int) throws(JSONStateError) -> [UInt64] {
    let count = try int(in: 0...max(0, min(limit, (bytes.count - position) / 8)))
    var values: [UInt64] = []
    values.reserveCapacity(count)
    for _ in 0..<count { values.append(try uint64()) }
    return values
  }

  mutating func byteString(atMost limit: Int) throws(JSONStateError) -> [UInt8] {
    let count = try int(in: 0...max(0, limit))
    guard bytes.count - position >= count else { throw JSONStateError() }
    position += count
    return Array(bytes[(position - count)..<position])
  }

  mutating func string(atMost limit: Int) throws(JSONStateError) -> String {
    String(decoding: try byteString(atMost: limit), as: UTF8.self)
  }

  /// Checks that no bytes are left.
  func finish() throws(JSONStateError) {
    guard position == bytes.count else { throw JSONStateError() }
  }
}
