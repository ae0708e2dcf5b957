import CampanileCrypto
import Testing

@Suite struct SHA256HasherTests {
  /// The digest does not depend on the pieces, or on digests read before the end.
  @Test(arguments: [1, 63, 64, 65, 1_000])
  func agreesWithTheDigestOfTheWhole(pieceBytes: Int) throws {
    let bytes = (0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let hasher = try SHA256Hasher()
    var done = 0
    while done < bytes.count {
      let end = min(done + pieceBytes, bytes.count)
      try bytes[done..<end].withUnsafeBytes { try hasher.update($0) }
      done = end
      #expect(try hasher.digest() == SHA256.digest(Array(bytes[..<done])))
    }
  }

  @Test func hashesEmptyInput() throws {
    let hasher = try SHA256Hasher()
    #expect(try hasher.digest() == SHA256.digest([]))
  }
}
