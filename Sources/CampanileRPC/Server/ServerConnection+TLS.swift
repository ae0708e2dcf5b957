import NIOCore

#if TLS
  import NIOSSL

  extension ServerConnection {
    /// The maximum lifetime of a connection whose certificate is valid for even longer: a hundred years.
    private static let certificateMsMax: Int64 = 100 * 365 * 86_400_000

    /// Identifies the peer if its certificate was not read yet.
    ///
    /// - Parameter onlyIfPresent: Waits for a certificate, because the handshake may not be complete yet.
    func identifyByCertificate(onlyIfPresent: Bool = false) {
      guard let clientTLS, !onlyIfPresent || clientTLS.peerCertificate != nil else { return }
      identify(by: clientTLS)
    }

    /// Adopts the client's certificate as its credential unless it presented another. The handshake is complete by the
    /// first call.
    private func identify(by tls: NIOSSLServerHandler) {
      clientTLS = nil
      guard let certificate = tls.peerCertificate else { return }
      hasOwnCredential = true
      let expiresAtMs = Int64(certificate.notValidAfter) * 1000
      if let nowMs = core.configuration.nowMs {
        let remainingMs = min(max(0, expiresAtMs - nowMs()), Self.certificateMsMax)
        certificateEnd = self.context.loop.now + .milliseconds(remainingMs)
      }
      guard principal == nil, !state.isTrusted else { return }
      let uris = certificate._subjectAlternativeNames().prefix(16).filter { $0.nameType == .uri }
        .map { name in name.contents.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } }
      switch core.authenticator.authenticate(certificateURIs: uris, expiresAtMs: expiresAtMs) {
      case .credential(let presented, let object): adopt(presented, object)
      case .principal(let presented): adopt(presented, nil)
      case .trusted, .refused, nil: identified(as: nil)
      }
    }
  }

  extension ServerConfiguration {
    /// Whether peers must present certificates.
    var asksForCertificates: Bool { tls?.asksForCertificates == true }
  }
#else
  extension ServerConnection {
    func identifyByCertificate(onlyIfPresent: Bool = false) {}
  }

  extension ServerConfiguration {
    var asksForCertificates: Bool { false }
  }
#endif
