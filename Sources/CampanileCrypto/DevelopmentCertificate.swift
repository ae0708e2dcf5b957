private import COpenSSL

/// A server certificate for development and tests, with an authority that signs only this certificate.
public struct DevelopmentCertificate: Sendable {
  /// The server's certificate (RFC 5280).
  public var certificatePEM: String
  /// The authority's certificate, which clients must trust.
  public var authorityPEM: String
  /// The server's private key. The authority's key is discarded.
  public var keyPEM: String

  /// Creates both certificates with P-256 keys.
  ///
  /// - Parameters:
  ///   - names: Subject alternative names in OpenSSL's notation, such as `DNS:localhost` and `IP:127.0.0.1`.
  ///   - validDays: The validity. It starts a day ago, to allow for clock differences.
  /// - Throws: `CryptoError` with `certificateFailed` if a name is malformed or OpenSSL is out of memory.
  public static func make(
    commonName: String, names: [String], validDays: Int
  ) throws(CryptoError) -> DevelopmentCertificate {
    let authorityKey = try PEMKey.generate()
    let key = try PEMKey.generate()
    let authority = try Builder(
      commonName: "\(commonName) authority", key: authorityKey, validDays: validDays, issuer: nil,
      signedBy: authorityKey,
      extensions: [
        (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
        (NID_subject_key_identifier, "hash"),
      ])
    let leaf = try Builder(
      commonName: commonName, key: key, validDays: validDays, issuer: authority, signedBy: authorityKey,
      extensions: [
        (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
        (NID_ext_key_usage, "serverAuth"), (NID_subject_key_identifier, "hash"),
        (NID_authority_key_identifier, "keyid"), (NID_subject_alt_name, names.joined(separator: ",")),
      ])
    return DevelopmentCertificate(
      certificatePEM: try leaf.pem(), authorityPEM: try authority.pem(),
      keyPEM: String(decoding: try key.pkcs8(), as: UTF8.self))
  }

  /// A signed certificate.
  private final class Builder {
    let pointer: OpaquePointer

    init(
      commonName: String, key: PEMKey, validDays: Int, issuer: Builder?, signedBy signer: PEMKey,
      extensions: [(Int32, String)]
    ) throws(CryptoError) {
      guard let certificate = X509_new() else { throw DevelopmentCertificate.failure("a certificate") }
      pointer = certificate
      let serial = try SecureRandom.bytes(8).reduce(0) { $0 << 8 | Int64($1) } & Int64.max
      let day = 86_400
      guard X509_set_version(certificate, 2) == 1,
        ASN1_INTEGER_set_int64(X509_get_serialNumber(certificate), serial) == 1,
        X509_gmtime_adj(X509_getm_notBefore(certificate), -day) != nil,
        X509_gmtime_adj(X509_getm_notAfter(certificate), validDays * day) != nil,
        X509_set_pubkey(certificate, key.pointer) == 1,
        X509_NAME_add_entry_by_txt(
          X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, Array(commonName.utf8),
          Int32(commonName.utf8.count), -1, 0) == 1,
        X509_set_issuer_name(certificate, X509_get_subject_name(issuer?.pointer ?? certificate)) == 1
      else { throw DevelopmentCertificate.failure("a certificate for \(commonName)") }
      var context = X509V3_CTX()
      X509V3_set_ctx(&context, issuer?.pointer ?? certificate, certificate, nil, nil, 0)
      for (identifier, value) in extensions {
        guard let made = X509V3_EXT_conf_nid(nil, &context, identifier, value) else {
          throw DevelopmentCertificate.failure("the extension \(value)")
        }
        defer { X509_EXTENSION_free(made) }
        guard X509_add_ext(certificate, made, -1) == 1 else {
          throw DevelopmentCertificate.failure("the extension \(value)")
        }
      }
      guard X509_sign(certificate, signer.pointer, EVP_sha256()) > 0 else {
        throw DevelopmentCertificate.failure("a signature")
      }
    }

    deinit { X509_free(pointer) }

    func pem() throws(CryptoError) -> String { try DevelopmentCertificate.text { PEM_write_bio_X509($0, pointer) } }
  }

  /// Returns the output of `write` to a memory buffer.
  private static func text(_ write: (OpaquePointer) -> Int32) throws(CryptoError) -> String {
    guard let bio = BIO_new(BIO_s_mem()) else { throw failure("a buffer") }
    defer { BIO_free(bio) }
    guard write(bio) == 1 else { throw failure("PEM") }
    var bytes = [UInt8](repeating: 0, count: 16 * 1024)
    let count = BIO_read(bio, &bytes, Int32(bytes.count))
    guard count > 0, Int(count) < bytes.count else { throw failure("PEM") }
    return String(decoding: bytes[..<Int(count)], as: UTF8.self)
  }

  private static func failure(_ what: String) -> CryptoError {
    ERR_clear_error()
    return CryptoError(.certificateFailed, "OpenSSL failed to make \(what)")
  }
}

extension CryptoError.Code {
  /// Creating a certificate from the arguments failed.
  public static let certificateFailed = Self(description: "CERTIFICATE_FAILED")
}
