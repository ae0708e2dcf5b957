import CampanileCrypto
import TestSupport
import Testing

@Suite struct SHA256Tests {
  /// The examples of FIPS 180-4, and the empty message.
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (String(repeating: "a", count: 1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
  ])
  func knownVectors(text: String, hexadecimal: String) throws {
    #expect(try SHA256.digest(text).hexadecimal == hexadecimal)
    #expect(try SHA256.digest(Array(text.utf8)).hexadecimal == hexadecimal)
  }

  @Test func agreesWithPython() throws {
    let text = try ExternalProgram.python(
      "import hashlib\nfor n in range(300): print(hashlib.sha256(bytes((i * 7 + n) & 255 for i in range(n))).hexdigest())"
    )
    let lines = text.split(separator: "\n")
    try #require(lines.count == 300)
    for (count, line) in lines.enumerated() {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7 + count) }
      #expect(try SHA256.digest(bytes).hexadecimal == line)
    }
  }

  @Test func digestsHave32BytesAndAreComparedWhole() throws {
    let digest = try SHA256.digest("abc")
    #expect(SHA256Digest(bytes: digest.bytes) == digest)
    #expect(digest.prefix == 0xba78_16bf_8f01_cfea)
    for index in 0..<32 {
      var other = digest.bytes
      other[index] ^= 1
      #expect(SHA256Digest(bytes: other)?.isEqual(to: digest) == false)
    }
    #expect(SHA256Digest(bytes: Array(digest.bytes.dropLast())) == nil)
    #expect(SHA256Digest(bytes: digest.bytes + [0]) == nil)
  }

  @Test func threadsCanHashConcurrently() async throws {
    let expected = try SHA256.digest("shared")
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<16 {
        group.addTask {
          for _ in 0..<500 where try SHA256.digest("shared") != expected { return false }
          return true
        }
      }
      for try await isSame in group { #expect(isSame) }
    }
  }
}
