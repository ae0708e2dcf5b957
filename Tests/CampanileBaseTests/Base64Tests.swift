import CampanileBase
import Foundation
import Testing

@Suite struct Base64Tests {
  @Test func acceptsBothAlphabets() {
    #expect(Base64.decode("") == [])
    #expect(Base64.decode("-_8=") == [0xFB, 0xFF] && Base64.decode("+/8") == [0xFB, 0xFF])
    for bad in ["A", "AA=", "AAA==", "AA=A", "====", "+_AA", "AA A", "AAAA=", "é"] {
      #expect(Base64.decode(bad) == nil, "\(bad)")
    }
  }

  @Test func rejectsInvalidCharacters() {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    for count in [4, 8, 12, 16, 20, 64] {
      let text = (0..<count).map { alphabet[$0 * 7 % 62] }
      #expect(text.withUnsafeBufferPointer { Base64.decode($0) }?.count == count / 4 * 3)
      for index in text.indices {
        for byte in UInt8.min...UInt8.max {
          var changed = text
          changed[index] = byte
          let isDigit = alphabet.contains(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
          let isPadding = byte == UInt8(ascii: "=") && index == count - 1
          let decoded = changed.withUnsafeBufferPointer { Base64.decode($0) }
          #expect((decoded != nil) == (isDigit || isPadding), "\(byte) at \(index)")
        }
      }
    }
  }
}

@Suite struct Base64URLTests {
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
      let padded = Data(bytes).base64EncodedString()
      #expect(Base64.text(bytes) == padded)
      let expected =
        padded
        .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
      #expect(Base64URL.encode(bytes) == expected)
      #expect(Base64URL.decode(expected) == bytes)
    }
  }

  @Test(arguments: ["A", "AAAAA", "Zg=", "Zg==", "Zm+v", "Zm/v", "Zm 9", "Zh", "Zm9vYh", "Zm9vYmF", "é", "\u{0}AAA"])
  func refusesMalformedBase64URL(text: String) {
    #expect(Base64URL.decode(text) == nil)
  }
}
