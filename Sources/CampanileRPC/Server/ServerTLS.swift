#if TLS
  /// The server's certificate, and the authorities of client certificates.
  public struct ServerTLS: Sendable, Hashable {
    /// The server's certificate chain in PEM, leaf first.
    public var certificateChainFile: String
    /// The unencrypted private key in PEM.
    public var privateKeyFile: String
    /// Certificate authorities in PEM. If set, a peer must present a certificate that one of them signed.
    public var clientCertificateAuthoritiesFile: String?
    /// The revocation lists of those authorities in PEM. If set, a certificate is also refused if its authority has no
    /// current list.
    public var clientRevocationListFile: String?

    public init(
      certificateChainFile: String, privateKeyFile: String, clientCertificateAuthoritiesFile: String? = nil,
      clientRevocationListFile: String? = nil
    ) {
      self.certificateChainFile = certificateChainFile
      self.privateKeyFile = privateKeyFile
      self.clientCertificateAuthoritiesFile = clientCertificateAuthoritiesFile
      self.clientRevocationListFile = clientRevocationListFile
    }
  }
#endif
