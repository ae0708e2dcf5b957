import CampanileCrypto
import Foundation
import TestSupport
import Testing

@Suite struct ES256Tests {
  /// Calls `body` with a temporary folder, which is removed afterwards.
  private func withFolder<T>(_ body: (String) throws -> T) throws -> T {
    let path = NSTemporaryDirectory() + "campanile-crypto-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try body(path)
  }

  private func write(_ bytes: [UInt8], _ path: String, mode: Int = 0o600) throws {
    try Data(bytes).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  @Test func signsAndVerifies() throws {
    let key = try ES256PrivateKey.generate()
    let message = Array("message".utf8)
    let signature = try key.sign(message)
    #expect(try key.publicKey.isValid(signature, for: message))
    #expect(try !key.publicKey.isValid(signature, for: message + [0]))
    #expect(try !ES256PrivateKey.generate().publicKey.isValid(signature, for: message))
    for index in [0, 31, 32, 63] {
      var raw = signature.raw
      raw[index] ^= 1
      let other = try #require(ES256Signature(raw: raw))
      #expect(try !key.publicKey.isValid(other, for: message))
    }
    let zero = try #require(ES256Signature(raw: [UInt8](repeating: 0, count: 64)))
    #expect(try !key.publicKey.isValid(zero, for: message))
    #expect(try key.sign([]) != key.sign([]))
  }

  @Test func derEncodingsRoundTrip() throws {
    let key = try ES256PrivateKey.generate()
    for index in 0..<300 {
      let signature = try key.sign([UInt8(index & 255)])
      #expect(ES256Signature(der: signature.der) == signature)
    }
    for raw in [
      [UInt8](repeating: 0, count: 64), [UInt8](repeating: 0xFF, count: 64),
      [UInt8](repeating: 0, count: 31) + [0x80] + [UInt8](repeating: 0, count: 31) + [0x7F],
    ] {
      let signature = try #require(ES256Signature(raw: raw))
      #expect(ES256Signature(der: signature.der) == signature)
    }
    #expect(ES256Signature(raw: []) == nil)
    #expect(ES256Signature(raw: [UInt8](repeating: 1, count: 65)) == nil)
  }

  @Test(
    arguments: [
      [], [0x30], [0x30, 0x00], [0x30, 0x06, 2, 1, 1, 2, 1], [0x30, 0x06, 2, 1, 1, 2, 1, 1, 0],
      [0x31, 0x06, 2, 1, 1, 2, 1, 1],
      [0x30, 0x06, 3, 1, 1, 2, 1, 1], [0x30, 0x06, 2, 1, 0x80, 2, 1, 1], [0x30, 0x07, 2, 2, 0, 1, 2, 1, 1],
      [0x30, 0x05, 2, 0, 2, 1, 1], [0x30, 0x81, 0x06, 2, 1, 1, 2, 1, 1], [0x30, 0x06, 2, 0x7F, 1, 2, 1, 1],
    ] as [[UInt8]])
  func malformedDERIsRefused(der: [UInt8]) {
    #expect(ES256Signature(der: der) == nil)
  }

  @Test func opensslAgrees() throws {
    try withFolder { folder in
      let (keyPath, publicPath) = ("\(folder)/key.p8", "\(folder)/key.pub")
      _ = try ExternalProgram.run([
        "openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", keyPath,
      ])
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keyPath)
      let key = try ES256PrivateKey(path: keyPath)
      let publicPEM = try ExternalProgram.run(["openssl", "pkey", "-in", keyPath, "-pubout"])
      #expect(key.publicKey.pem == publicPEM)
      try write(Array(publicPEM.utf8), publicPath)

      // A signature made here, verified by openssl.
      let message = Array("What was said".utf8)
      try write(message, "\(folder)/message")
      try write(try key.sign(message).der, "\(folder)/ours")
      let dgst = ["openssl", "dgst", "-sha256"]
      let verdict = try ExternalProgram.run(
        dgst + ["-verify", publicPath, "-signature", "\(folder)/ours", "\(folder)/message"])
      #expect(verdict.contains("Verified OK"))

      // A signature made by openssl, verified here.
      _ = try ExternalProgram.run(dgst + ["-sign", keyPath, "-out", "\(folder)/theirs", "\(folder)/message"])
      let theirs = try #require(ES256Signature(der: Data(contentsOf: URL(filePath: "\(folder)/theirs"))))
      #expect(try key.publicKey.isValid(theirs, for: message))

      // The older format, in which the parameters of the curve precede the key; and our own output.
      let older = try ExternalProgram.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey"])
      #expect(throws: Never.self) { try ES256PrivateKey(pem: Array(older.utf8), source: "older") }
      let again = try ES256PrivateKey(pem: try key.privatePEM(), source: "again")
      #expect(again.publicKey.pem == key.publicKey.pem)
    }
  }

  @Test func cryptographyAndPyJWTAgree() throws {
    let key = try ES256PrivateKey.generate()
    let token = try ProviderToken.make(
      key: key, keyID: "ABC123DEFG", teamID: "DEF123GHIJ", issuedAtSeconds: 1_700_000_000)
    let script = """
      import sys, base64, json
      from cryptography.hazmat.primitives.serialization import load_pem_public_key
      from cryptography.hazmat.primitives.asymmetric import ec, utils
      from cryptography.hazmat.primitives import hashes
      token, pem = sys.argv[1], sys.argv[2].encode()
      head, claims, signature = token.split(".")
      un = lambda t: base64.urlsafe_b64decode(t + "=" * (-len(t) % 4))
      raw = un(signature); assert len(raw) == 64
      der = utils.encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
      load_pem_public_key(pem).verify(der, (head + "." + claims).encode(), ec.ECDSA(hashes.SHA256()))
      header, payload = json.loads(un(head)), json.loads(un(claims))
      import jwt
      decoded = jwt.decode(token, pem, algorithms=["ES256"], options={"verify_iat": False})
      assert decoded == payload and jwt.get_unverified_header(token) == header
      print(header["alg"], header["kid"], payload["iss"], payload["iat"])
      """
    let answer = try ExternalProgram.python(script, [token, key.publicKey.pem])
    #expect(answer == "ES256 ABC123DEFG DEF123GHIJ 1700000000\n")
    for id in ["", "a\"b", "ü", String(repeating: "A", count: 65)] {
      #expect(throws: CryptoError.self) {
        try ProviderToken.make(key: key, keyID: id, teamID: "DEF123GHIJ", issuedAtSeconds: 0)
      }
    }
  }

  @Test func unsupportedKeysAreRefusedWithTheirPath() throws {
    try withFolder { folder in
      let path = "\(folder)/AuthKey.p8"
      func code(_ pem: String) throws -> CryptoError.Code? {
        try write(Array(pem.utf8), path)
        let error = #expect(throws: CryptoError.self) { try ES256PrivateKey(path: path) }
        #expect(error?.message.contains(path) == true)
        return error?.code
      }
      let generate = ["openssl", "genpkey", "-quiet", "-algorithm"]
      let curve = ["EC", "-pkeyopt"]
      let good = try ExternalProgram.run(generate + curve + ["ec_paramgen_curve:P-256"])
      #expect(try code(ExternalProgram.run(generate + curve + ["ec_paramgen_curve:P-384"])) == .keyUnsupported)
      #expect(try code(ExternalProgram.run(generate + curve + ["ec_paramgen_curve:secp256k1"])) == .keyUnsupported)
      #expect(try code(ExternalProgram.run(generate + ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"])) == .keyUnsupported)
      #expect(try code(ExternalProgram.run(generate + ["ED25519"])) == .keyUnsupported)
      try write(Array(good.utf8), path)
      #expect(try code(ExternalProgram.run(["openssl", "pkey", "-in", path, "-pubout"])) == .keyUnsupported)
      try write(Array(good.utf8), path)
      let encrypted = try ExternalProgram.run(["openssl", "pkcs8", "-topk8", "-in", path, "-passout", "pass:secret"])
      #expect(try code(encrypted) == .keyEncrypted)
      try write(Array(good.utf8), path)
      let older = try ExternalProgram.run(["openssl", "ec", "-aes128", "-in", path, "-passout", "pass:secret"])
      #expect(
        try code(String(older[(older.firstRange(of: "-----BEGIN")?.lowerBound ?? older.startIndex)...]))
          == .keyEncrypted)
      let lines = good.split(separator: "\n")
      for pem in [
        "", "hello", "-----BEGIN PRIVATE KEY", String(good.prefix(good.count - 8)), String(lines[0]),
        "\(lines[0])\n\(lines[1])\n\(lines[lines.count - 1])\n", "\(lines[0])\n!!!!\n\(lines[lines.count - 1])\n",
        good + String(repeating: " ", count: KeyFile.sizeBytesMax),
      ] {
        let found = try code(pem)
        #expect(found == (pem.utf8.count > KeyFile.sizeBytesMax ? .keyUnreadable : .keyMalformed), "\(pem.prefix(40))")
      }
      for byte in 60..<160 {
        // A damaged key is refused, or signs correctly if the damage is in an unused part. It never signs wrongly.
        var bytes = Array(good.utf8)
        bytes[byte] = bytes[byte] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        if let key = try? ES256PrivateKey(pem: bytes, source: "damaged") {
          #expect(try key.publicKey.isValid(key.sign([1]), for: [1]))
        }
      }
    }
  }

  @Test func exposedFilesAreRefused() throws {
    try withFolder { folder in
      let path = "\(folder)/AuthKey.p8"
      let pem = try ES256PrivateKey.generate().privatePEM()
      for mode in [0o640, 0o604, 0o610, 0o601, 0o620, 0o602, 0o666] {
        try write(pem, path, mode: mode)
        let error = #expect(throws: CryptoError.self) { try ES256PrivateKey(path: path) }
        #expect(error?.code == .keyExposed)
        #expect(error?.message.contains(path) == true)
      }
      for mode in [0o600, 0o400] {
        try write(pem, path, mode: mode)
        #expect(throws: Never.self) { try ES256PrivateKey(path: path) }
      }
      for other in [folder, "\(folder)/none", "/dev/null"] {
        let error = #expect(throws: CryptoError.self) { try KeyFile.read(other) }
        #expect(error?.code == .keyUnreadable)
      }
    }
  }

  @Test func keysAreRedactedInDescriptions() throws {
    let key = try ES256PrivateKey.generate()
    let pem = String(decoding: try key.privatePEM(), as: UTF8.self)
    let body = pem.split(separator: "\n")[1]
    var dumped = ""
    dump(key, to: &dumped)
    for text in ["\(key)", String(reflecting: key), String(describing: key), dumped] {
      #expect(!text.contains(body))
      #expect(text.contains("redacted") || text.contains("ES256PrivateKey"))
    }
  }

  @Test func threadsCanShareAKey() async throws {
    let key = try ES256PrivateKey.generate()
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for index in 0..<16 {
        group.addTask {
          for round in 0..<50 {
            let message = [UInt8(index), UInt8(round)]
            guard try key.publicKey.isValid(key.sign(message), for: message) else { return false }
          }
          return true
        }
      }
      for try await isValid in group { #expect(isValid) }
    }
  }
}
