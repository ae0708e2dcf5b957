import Testing

/// Intentional memory errors. `scripts/sanitize` runs each one separately, and fails if it is not reported.
@Suite struct AddressPlants {
  @Test func readBehindTheEnd() {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 1)
    defer { bytes.deallocate() }
    bytes.initializeMemory(as: UInt8.self, repeating: 1)
    let claimed = bytes.count + Int(bytes[0])
    let sum = (0..<claimed).reduce(UInt8(0)) { $0 &+ bytes.baseAddress!.load(fromByteOffset: $1, as: UInt8.self) }
    #expect(sum > 0)
  }

  @Test func writtenAfterItWasFreed() {
    let word = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    word.initialize(to: 1)
    word.deallocate()
    word.pointee += 1
  }
}
