import CampanileBase
import CampanileCrypto
import Foundation
import TestSupport
import Testing

@Suite struct DerivationTests {
  /// RFC 7914 section 12.
  @Test(arguments: [
    (
      "", "", 4, 1, 1,
      "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf"
        + "35e20c38d18906"
    ),
    (
      "password", "NaCl", 10, 8, 16,
      "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d83"
        + "60cbdfa2cc0640"
    ),
    (
      "pleaseletmein", "SodiumChloride", 14, 8, 1,
      "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40df"
        + "cf017b45575887"
    ),
  ])
  func scryptVectors(password: String, salt: String, log2: Int, r: Int, p: Int, expected: String) throws {
    let key = try Scrypt.key(
      password: Array(password.utf8), salt: Array(salt.utf8),
      cost: ScryptCost(costLog2: log2, blockSize: r, parallelization: p), sizeBytes: 64)
    #expect(hexadecimal(key) == expected)
  }

  @Test func scryptAgreesWithPython() throws {
    let script = """
      import hashlib
      for n in range(12):
        print(hashlib.scrypt(b'p' * (n * 37), salt=bytes(range(n)), n=2 << n % 5, r=1 + n, p=1 + n % 3, dklen=1 + n * 9).hex())
      """
    let lines = try ExternalProgram.python(script).split(separator: "\n")
    try #require(lines.count == 12)
    for (n, line) in lines.enumerated() {
      let key = try Scrypt.key(
        password: [UInt8](repeating: UInt8(ascii: "p"), count: n * 37), salt: (0..<n).map(UInt8.init),
        cost: ScryptCost(costLog2: 1 + n % 5, blockSize: 1 + n, parallelization: 1 + n % 3), sizeBytes: 1 + n * 9)
      #expect(hexadecimal(key) == line)
    }
  }

  @Test(arguments: [(0, 8, 1), (21, 8, 1), (15, 0, 1), (15, 33, 1), (15, 8, 0), (15, 8, 17), (20, 8, 1), (-1, -1, -1)])
  func scryptRefusesInvalidCosts(log2: Int, r: Int, p: Int) {
    let cost = ScryptCost(costLog2: log2, blockSize: r, parallelization: p)
    let error = #expect(throws: CryptoError.self) {
      try Scrypt.key(password: [1], salt: [2], cost: cost, sizeBytes: 32)
    }
    #expect(error?.code == .invalidCost)
  }

  @Test func scryptRefusesInvalidSizes() {
    let cost = ScryptCost(costLog2: 4, blockSize: 1, parallelization: 1)
    for size in [0, -1, Scrypt.keySizeBytesMax + 1] {
      #expect(throws: CryptoError.self) { try Scrypt.key(password: [], salt: [], cost: cost, sizeBytes: size) }
    }
    let long = [UInt8](repeating: 0, count: Scrypt.inputBytesMax + 1)
    #expect(throws: CryptoError.self) { try Scrypt.key(password: long, salt: [], cost: cost, sizeBytes: 8) }
    #expect(throws: CryptoError.self) { try Scrypt.key(password: [], salt: long, cost: cost, sizeBytes: 8) }
  }

  @Test func passwordsVerifyAfterBeingStored() throws {
    let cost = ScryptCost(costLog2: 6, blockSize: 8, parallelization: 1)
    let hash = try PasswordHash("ciò che è segreto", cost: cost)
    let stored = try #require(PasswordHash(text: hash.text))
    #expect(stored == hash)
    #expect(try stored.matches("ciò che è segreto"))
    #expect(try !stored.matches("ciò che è segretO"))
    #expect(try !stored.matches(""))
    #expect(try !stored.matches(String(repeating: "x", count: Scrypt.inputBytesMax + 1)))
    #expect(try PasswordHash("ciò che è segreto", cost: cost).text != hash.text)
    #expect(!"\(hash)".contains(hash.text.suffix(20)))
    #expect(ScryptCost.password.memoryBytes <= ScryptCost.memoryBytesMax)
  }

  @Test(arguments: [
    "", "$scrypt$", "$scrypt$ln=6,r=8,p=1$AAAAAAAAAAA$AAAA", "$bcrypt$ln=6,r=8,p=1$AAAAAAAAAAA$",
    "$scrypt$ln=6,r=8$AAAAAAAAAAA$KEY", "$scrypt$ln=99,r=8,p=1$AAAAAAAAAAA$KEY",
    "$scrypt$ln=+6,r=8,p=1$AAAAAAAAAAA$KEY",
    "$scrypt$r=8,ln=6,p=1$AAAAAAAAAAA$KEY", "$scrypt$ln=6,r=8,p=1$AAAA$KEY", "$scrypt$ln=6,r=8,p=1$AAAAAAAAAAA$KEY$",
    "x$scrypt$ln=6,r=8,p=1$AAAAAAAAAAA$KEY", "$scrypt$ln=20,r=32,p=1$AAAAAAAAAAA$KEY",
  ])
  func malformedPasswordHashesAreRefused(text: String) {
    let key = Base64URL.encode([UInt8](repeating: 7, count: 32))
    #expect(PasswordHash(text: text.replacing("KEY", with: key)) == nil)
    #expect(PasswordHash(text: "$scrypt$ln=6,r=8,p=1$AAAAAAAAAAA$\(key)") != nil)
  }

  /// RFC 4231 sections 4.2 and 4.3.
  @Test func authenticationCodesMatchRFC4231() throws {
    let first = try HMACSHA256.code(Array("Hi There".utf8), key: [UInt8](repeating: 0x0b, count: 20))
    #expect(first.hexadecimal == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
    let second = try HMACSHA256.code(Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
    #expect(second.hexadecimal == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
  }

  @Test func authenticationCodesAgreeWithPython() throws {
    let script = """
      import hmac
      for n in range(140): print(hmac.new(bytes(i & 255 for i in range(n)), b'm' * (n * 3), 'sha256').hexdigest())
      """
    let lines = try ExternalProgram.python(script).split(separator: "\n")
    try #require(lines.count == 140)
    for (n, line) in lines.enumerated() {
      let key = (0..<n).map { UInt8($0 & 255) }
      let message = [UInt8](repeating: UInt8(ascii: "m"), count: n * 3)
      let code = try HMACSHA256.code(message, key: key)
      #expect(code.hexadecimal == line)
      #expect(try HMACSHA256.isValid(code.bytes, for: message, key: key))
      #expect(try !HMACSHA256.isValid(code.bytes, for: message + [0], key: key))
      #expect(try !HMACSHA256.isValid(Array(code.bytes.dropLast()), for: message, key: key))
    }
    let long = [UInt8](repeating: 0, count: HMACSHA256.keySizeBytesMax + 1)
    #expect(throws: CryptoError.self) { try HMACSHA256.code([], key: long) }
  }
}

func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
  bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
}
