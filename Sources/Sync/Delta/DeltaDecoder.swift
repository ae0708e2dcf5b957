/// Reads the instructions of a delta from an untrusted source.
struct DeltaDecoder {
  private let delta: UnsafeRawBufferPointer
  private var position = 0

  init(_ delta: UnsafeRawBufferPointer) {
    self.delta = delta
  }

  mutating func decode(
    base: UnsafeRawBufferPointer, targetBytesMax: Int, piece: (UnsafeRawBufferPointer) -> Void
  ) throws(ByteDeltaError) {
    guard delta.count >= 4, delta.prefix(4).elementsEqual(ByteDelta.magic) else { throw invalid("not a delta") }
    position = 4
    guard try varint() == UInt64(base.count) else {
      throw ByteDeltaError(.wrongBase, byteOffset: 4, reason: "the base has a different size")
    }
    let size = try varint()
    guard size <= UInt64(targetBytesMax) else {
      throw ByteDeltaError(.limitExceeded, byteOffset: position, reason: "the target has \(size) bytes")
    }
    var left = Int(size)
    var copied = 0
    while left > 0 {
      let header = try varint()
      guard header >= 2, header >> 1 <= UInt64(left) else { throw invalid("an instruction exceeds the target") }
      let length = Int(header >> 1)
      left -= length
      if header & 1 == 1 {
        let start = try start(behind: copied, length, base.count)
        piece(UnsafeRawBufferPointer(rebasing: base[start..<(start + length)]))
        copied = start + length
      } else {
        guard delta.count - position >= length else { throw invalid("the delta ends within an insertion") }
        piece(UnsafeRawBufferPointer(rebasing: delta[position..<(position + length)]))
        position += length
      }
    }
    guard position == delta.count else { throw invalid("bytes follow the last instruction") }
  }

  private mutating func start(behind copied: Int, _ length: Int, _ baseCount: Int) throws(ByteDeltaError) -> Int {
    let zigzag = try varint()
    let distance = Int64(bitPattern: zigzag >> 1) ^ -Int64(bitPattern: zigzag & 1)
    let (start, overflow) = Int64(copied).addingReportingOverflow(distance)
    guard !overflow, start >= 0, length <= baseCount, start <= Int64(baseCount - length) else {
      throw invalid("a copy exceeds the base")
    }
    return Int(start)
  }

  private mutating func varint() throws(ByteDeltaError) -> UInt64 {
    var value: UInt64 = 0
    // Nine bytes hold 63 bits, more than any size has.
    for shift in 0..<9 {
      guard position < delta.count else { throw invalid("the delta ends within a number") }
      let byte = delta[position]
      position += 1
      value |= UInt64(byte & 0x7F) << UInt64(shift * 7)
      if byte & 0x80 == 0 { return value }
    }
    throw invalid("a number has more than nine bytes")
  }

  private func invalid(_ reason: String) -> ByteDeltaError {
    ByteDeltaError(.invalidDelta, byteOffset: position, reason: reason)
  }
}
