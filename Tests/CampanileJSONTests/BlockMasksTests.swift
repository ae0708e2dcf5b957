import Testing

@testable import CampanileJSON

/// The masks of 64 bytes, compared with their definitions byte by byte.
@Suite struct BlockMasksTests {
  @Test func masksMatchTheirDefinitions() {
    var random = Random(17)
    for round in 0..<500 {
      let bytes = (0..<64).map { _ in
        round % 2 == 0 ? UInt8(random.below(256)) : Array("{}[]:,\"\\ \n\u{1}é".utf8)[random.below(13)]
      }
      let masks = bytes.withUnsafeBytes { raw in raw.baseAddress.map { BlockMasks($0) } }
      func mask(_ isMember: (UInt8) -> Bool) -> UInt64 {
        bytes.enumerated().reduce(0) { isMember($1.element) ? $0 | 1 << UInt64($1.offset) : $0 }
      }
      #expect(masks?.quote == mask { $0 == 0x22 })
      #expect(masks?.backslash == mask { $0 == 0x5C })
      #expect(masks?.structural == mask { "{}[]:,".utf8.contains($0) })
      #expect(masks?.upToSpace == mask { $0 <= 0x20 })
      #expect(masks?.space == mask { $0 == 0x20 })
      #expect(masks?.nonASCII == mask { $0 >= 0x80 })
    }
  }

  @Test("the replacement for the movemask instruction gathers the top bits")
  func gather() {
    var random = Random(18)
    for _ in 0..<1000 {
      let word = random.next()
      var expected: UInt64 = 0
      for byte in UInt64(0)..<8 where word >> (byte * 8 + 7) & 1 == 1 { expected |= 1 << byte }
      #expect(BlockMasks.gather(word) == expected)
    }
  }

  @Test func prefixParityMatchesItsDefinition() {
    var random = Random(19)
    for _ in 0..<200 {
      let word = random.next()
      let parity = BlockMasks.prefixParity(word)
      for bit in UInt64(0)..<64 {
        #expect(parity >> bit & 1 == UInt64((word << (63 - bit)).nonzeroBitCount & 1))
      }
    }
  }
}
