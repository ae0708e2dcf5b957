private import COpenSSL

/// Verifies client certificates against authorities and their revocation lists (RFC 5280 section 6), with OpenSSL.
///
/// A certificate is accepted only if there is a current revocation list of its issuer, signed by it. Thread-safe: the
/// store does not change after initialisation, and OpenSSL locks its caches.
public final class ClientCertificateVerifier: @unchecked Sendable {
  /// Maximum number of certificates considered per chain.
  public static let chainCountMax = 10

  private let store: OpaquePointer

  /// - Parameters:
  ///   - authoritiesPEM: The certificates of the authorities.
  ///   - revocationListsPEM: One or more revocation lists.
  /// - Throws: `CryptoError` with `revocationListUnusable` if an argument contains no PEM object, or a list is not
  ///   signed by any of the authorities.
  public init(authoritiesPEM: [UInt8], revocationListsPEM: [UInt8]) throws(CryptoError) {
    guard let store = X509_STORE_new() else { throw Self.unusable("OpenSSL has no memory") }
    self.store = store
    let authorities = try Self.read(authoritiesPEM) { PEM_read_bio_X509($0, nil, nil, nil) }
    defer { authorities.forEach { X509_free($0) } }
    let lists = try Self.read(revocationListsPEM) { PEM_read_bio_X509_CRL($0, nil, nil, nil) }
    defer { lists.forEach { X509_CRL_free($0) } }
    guard !authorities.isEmpty else { throw Self.unusable("the authorities' file contains no certificate") }
    guard !lists.isEmpty else { throw Self.unusable("the file contains no X509 CRL in PEM") }
    for authority in authorities { X509_STORE_add_cert(store, authority) }
    for (index, list) in lists.enumerated() {
      guard authorities.contains(where: { Self.hasSigned($0, list) }) else {
        throw Self.unusable("list \(index + 1) is not signed by an authority of client certificates")
      }
      guard X509_STORE_add_crl(store, list) == 1 else { throw Self.unusable("list \(index + 1) cannot be used") }
    }
    X509_STORE_set_flags(store, UInt(X509_V_FLAG_CRL_CHECK))
  }

  deinit { X509_STORE_free(store) }

  /// Verifies a chain, the client's own certificate first, each in DER.
  ///
  /// - Returns: The reason for refusing the certificate, in OpenSSL's words; nil if it is accepted.
  public func refusal(ofChain chain: [[UInt8]]) -> String? {
    defer { ERR_clear_error() }
    let certificates = chain.prefix(Self.chainCountMax).compactMap(Self.certificate)
    defer { certificates.forEach { X509_free($0) } }
    guard let leaf = certificates.first, certificates.count == min(chain.count, Self.chainCountMax) else {
      return "a certificate cannot be read"
    }
    guard let others = OPENSSL_sk_new_null(), let context = X509_STORE_CTX_new() else { return "OpenSSL has no memory" }
    defer {
      X509_STORE_CTX_free(context)
      OPENSSL_sk_free(others)
    }
    for certificate in certificates.dropFirst() {
      guard OPENSSL_sk_push(others, UnsafeRawPointer(certificate)) > 0 else { return "OpenSSL has no memory" }
    }
    guard X509_STORE_CTX_init(context, store, leaf, others) == 1,
      X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_CLIENT) == 1
    else { return "OpenSSL has no memory" }
    if X509_verify_cert(context) == 1 { return nil }
    return String(cString: X509_verify_cert_error_string(Int(X509_STORE_CTX_get_error(context))))
  }

  private static func certificate(_ der: [UInt8]) -> OpaquePointer? {
    der.withUnsafeBufferPointer { bytes in
      var next = bytes.baseAddress
      return d2i_X509(nil, &next, bytes.count)
    }
  }

  private static func hasSigned(_ authority: OpaquePointer, _ list: OpaquePointer) -> Bool {
    guard X509_NAME_cmp(X509_get_subject_name(authority), X509_CRL_get_issuer(list)) == 0,
      let key = X509_get0_pubkey(authority)
    else { return false }
    return X509_CRL_verify(list, key) == 1
  }

  /// Reads all objects of one kind from a PEM text.
  private static func read(
    _ pem: [UInt8], _ next: (OpaquePointer) -> OpaquePointer?
  ) throws(CryptoError) -> [OpaquePointer] {
    guard let bio = BIO_new(BIO_s_mem()), BIO_write(bio, pem, Int32(clamping: pem.count)) >= 0 else {
      throw unusable("OpenSSL has no memory")
    }
    defer {
      BIO_free(bio)
      // OpenSSL reports the end of the text as an error.
      ERR_clear_error()
    }
    var found: [OpaquePointer] = []
    while let object = next(bio) { found.append(object) }
    return found
  }

  private static func unusable(_ why: String) -> CryptoError {
    ERR_clear_error()
    return CryptoError(.revocationListUnusable, why)
  }
}

extension CryptoError.Code {
  /// A certificate revocation list that cannot be read, or that no known authority has signed.
  public static let revocationListUnusable = Self(description: "REVOCATION_LIST_UNUSABLE")
}
