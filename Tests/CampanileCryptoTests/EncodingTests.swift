import CampanileCrypto
import Foundation
import Testing

@Suite struct EncodingTests {
  /// RFC 4648 section 10, without padding.
  @Test(arguments: [
    ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
    ("foobar", "Zm9vYmFy"),
  ])
  func knownVectors(plain: String, encoded: String) {
    #expect(Base64URL.encode(Array(plain.utf8)) == encoded)
    #expect(Base64URL.decode(encoded) == Array(plain.utf8))
  }

  @Test func agreesWithFoundation() {
    var random = SystemRandomNumberGenerator()
    for count in 0..<200 {
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      let expected = Data(bytes).base64EncodedString()
        .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
      #expect(Base64URL.encode(bytes) == expected)
      #expect(Base64URL.decode(expected) == bytes)
    }
  }

  @Test(arguments: ["A", "AAAAA", "Zg=", "Zg==", "Zm+v", "Zm/v", "Zm 9", "Zh", "Zm9vYh", "Zm9vYmF", "é", "\u{0}AAA"])
  func refusesWhatNoBytesEncodeTo(text: String) {
    #expect(Base64URL.decode(text) == nil)
  }

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
