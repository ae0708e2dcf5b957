private import COpenSSL

/// The owner of an OpenSSL key read from PEM. Thread-safe: OpenSSL's keys do not change after creation and count their
/// references atomically.
final class PEMKey: @unchecked Sendable {
  let pointer: OpaquePointer

  private init(_ pointer: OpaquePointer) { self.pointer = pointer }

  deinit { EVP_PKEY_free(pointer) }

  /// Generates a random key on P-256.
  ///
  /// - Throws: `randomUnavailable`.
  static func generate() throws(CryptoError) -> PEMKey {
    // EVP_EC_gen is a macro over a variadic function, neither of which Swift imports.
    guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else {
      throw CryptoError(.randomUnavailable, "OpenSSL has no elliptic curves")
    }
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, curve) == 1,
      EVP_PKEY_generate(context, &key) == 1, let key
    else { throw CryptoError(.randomUnavailable, "OpenSSL could not make a key") }
    return PEMKey(key)
  }

  /// Reads a private key in PKCS#8 (`.p8`) or SEC 1. `source` is its name in messages.
  static func privateKey(_ pem: [UInt8], source: String) throws(CryptoError) -> PEMKey {
    let name = KeyFile.shown(source)
    try checkFrame(pem, name)
    // The callback returns that there is no password, so that OpenSSL never asks for one on the terminal.
    let key = try read(pem, name) { PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in -1 }, nil) }
    try check(key, name)
    guard let context = EVP_PKEY_CTX_new(key.pointer, nil) else {
      throw CryptoError(.keyMalformed, "\(name): OpenSSL has no memory to check the key")
    }
    defer { EVP_PKEY_CTX_free(context) }
    guard EVP_PKEY_private_check(context) == 1, EVP_PKEY_pairwise_check(context) == 1 else {
      ERR_clear_error()
      throw CryptoError(.keyMalformed, "\(name): the private and the public part of the key do not match")
    }
    return key
  }

  /// Reads a public key in SPKI.
  static func publicKey(_ pem: [UInt8], source: String) throws(CryptoError) -> PEMKey {
    let name = KeyFile.shown(source)
    guard pem.count <= KeyFile.sizeBytesMax else { throw CryptoError(.keyMalformed, "\(name): is too long for a key") }
    let key = try read(pem, name) { PEM_read_bio_PUBKEY($0, nil, nil, nil) }
    try check(key, name)
    guard let context = EVP_PKEY_CTX_new(key.pointer, nil) else {
      throw CryptoError(.keyMalformed, "\(name): OpenSSL has no memory to check the key")
    }
    defer { EVP_PKEY_CTX_free(context) }
    guard EVP_PKEY_public_check(context) == 1 else {
      ERR_clear_error()
      throw CryptoError(.keyMalformed, "\(name): the key is not a point of P-256")
    }
    return key
  }

  /// Reads an RSA key of 2048 to 8192 bits from a DER-encoded `SubjectPublicKeyInfo`.
  static func rsaPublicKey(spki: [UInt8], source: String) throws(CryptoError) -> PEMKey {
    let name = KeyFile.shown(source)
    let key: OpaquePointer? = spki.withUnsafeBufferPointer { bytes in
      var start = bytes.baseAddress
      return d2i_PUBKEY(nil, &start, bytes.count)
    }
    ERR_clear_error()
    guard let key else { throw CryptoError(.keyMalformed, "\(name): the RSA key is damaged") }
    let owned = PEMKey(key)
    guard EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA, (2048...8192).contains(EVP_PKEY_get_bits(key)) else {
      throw CryptoError(.keyUnsupported, "\(name): an RSA key must have 2048 to 8192 bits")
    }
    guard let context = EVP_PKEY_CTX_new(key, nil) else {
      throw CryptoError(.keyMalformed, "\(name): OpenSSL has no memory to check the key")
    }
    defer { EVP_PKEY_CTX_free(context) }
    guard EVP_PKEY_public_check(context) == 1 else {
      ERR_clear_error()
      throw CryptoError(.keyMalformed, "\(name): the RSA key is invalid")
    }
    return owned
  }

  /// Returns the private key in PKCS#8 and PEM. Use it only to write private files.
  func pkcs8() throws(CryptoError) -> [UInt8] {
    try write { PEM_write_bio_PKCS8PrivateKey($0, self.pointer, nil, nil, 0, nil, nil) }
  }

  /// Returns the public key in SPKI and PEM.
  func spki() throws(CryptoError) -> [UInt8] { try write { PEM_write_bio_PUBKEY($0, self.pointer) } }

  private func write(_ body: (OpaquePointer) -> Int32) throws(CryptoError) -> [UInt8] {
    guard let bio = BIO_new(BIO_s_mem()) else { throw CryptoError(.keyMalformed, "OpenSSL has no memory for a key") }
    defer { BIO_free(bio) }
    var bytes = [UInt8](repeating: 0, count: KeyFile.sizeBytesMax)
    guard body(bio) == 1 else { throw CryptoError(.keyMalformed, "OpenSSL could not write the key") }
    let count = BIO_read(bio, &bytes, Int32(bytes.count))
    guard count > 0 else { throw CryptoError(.keyMalformed, "OpenSSL could not write the key") }
    return Array(bytes[..<Int(count)])
  }

  private static let curve = "prime256v1"

  private static func read(
    _ pem: [UInt8], _ name: String, _ body: (OpaquePointer) -> OpaquePointer?
  ) throws(CryptoError) -> PEMKey {
    let key: OpaquePointer? = pem.withUnsafeBytes { bytes in
      guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return nil }
      defer { BIO_free(bio) }
      return body(bio)
    }
    // OpenSSL's errors may contain bytes of the input, so they are discarded.
    ERR_clear_error()
    guard let key else {
      throw CryptoError(.keyMalformed, "\(name): the key is damaged: it does not match its PEM label")
    }
    return PEMKey(key)
  }

  /// Detects the most common mistakes, which OpenSSL's parser would only report as unreadable.
  private static func checkFrame(_ pem: [UInt8], _ name: String) throws(CryptoError) {
    guard pem.count <= KeyFile.sizeBytesMax else { throw CryptoError(.keyMalformed, "\(name): is too long for a key") }
    let text = String(decoding: pem, as: UTF8.self)
    guard let begin = text.firstRange(of: "-----BEGIN ") else {
      throw CryptoError(.keyMalformed, "\(name): is not a PEM text: the line -----BEGIN PRIVATE KEY----- is missing")
    }
    guard let labelEnd = text[begin.upperBound...].firstRange(of: "-----") else {
      throw CryptoError(.keyMalformed, "\(name): the PEM text is truncated in its first line")
    }
    let label = text[begin.upperBound..<labelEnd.lowerBound]
    guard text[labelEnd.upperBound...].contains("-----END \(label)-----") else {
      throw CryptoError(
        .keyMalformed, "\(name): the PEM text is truncated: the line -----END \(shown(label))----- is missing")
    }
    if label == "ENCRYPTED PRIVATE KEY" || text.contains("Proc-Type: 4,ENCRYPTED") {
      throw CryptoError(
        .keyEncrypted, "\(name): the key is encrypted; decrypt it with: openssl pkcs8 -in FILE -out NEW")
    }
    // OpenSSL writes a curve's parameters before a SEC 1 key; its PEM reader skips them.
    guard label == "PRIVATE KEY" || label == "EC PRIVATE KEY" || label == "EC PARAMETERS" else {
      throw CryptoError(.keyUnsupported, "\(name): contains a \(shown(label)), but a private key on P-256 is required")
    }
  }

  private static func shown(_ label: Substring) -> String { KeyFile.shown(String(label.prefix(64))) }

  private static func check(_ key: PEMKey, _ name: String) throws(CryptoError) {
    guard EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_EC else {
      let kind = EVP_PKEY_get0_type_name(key.pointer).map { String(cString: $0) } ?? "unknown"
      throw CryptoError(.keyUnsupported, "\(name): contains a key of kind \(kind), but one on P-256 is required")
    }
    var group = [CChar](repeating: 0, count: 64)
    var count = 0
    guard EVP_PKEY_get_group_name(key.pointer, &group, group.count, &count) == 1 else {
      throw CryptoError(.keyUnsupported, "\(name): the curve of the key has no name")
    }
    let curve = String(decoding: group[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard curve == Self.curve else {
      throw CryptoError(.keyUnsupported, "\(name): the key is on curve \(curve), but P-256 (prime256v1) is required")
    }
  }
}
