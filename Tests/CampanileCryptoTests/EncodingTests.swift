import CampanileCrypto
import Testing

@Suite struct EncodingTests {
  @Test func comparesWholeArrays() {
    #expect(ConstantTime.equal([], []))
    #expect(ConstantTime.equal([1, 2, 3], [1, 2, 3]))
    #expect(!ConstantTime.equal([1, 2, 3], [1, 2, 4]))
    #expect(!ConstantTime.equal([0, 2, 3], [1, 2, 3]))
    #expect(!ConstantTime.equal([1, 2], [1, 2, 3]))
    #expect(!ConstantTime.equal([], [0]))
  }

  @Test func randomBytesDiffer() throws {
    let draws = try (0..<64).map { _ in try SecureRandom.bytes(32) }
    #expect(Set(draws).count == 64)
    #expect(draws.allSatisfy { $0.count == 32 })
    for count in [0, -1, SecureRandom.sizeBytesMax + 1] {
      #expect(throws: CryptoError.self) { try SecureRandom.bytes(count) }
    }
  }
}
