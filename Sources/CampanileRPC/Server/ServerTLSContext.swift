#if TLS
  public import NIOCore
  import CampanileBase
  import CampanileCrypto
  import NIOSSL
  import Synchronization

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #else
    import Darwin
  #endif

  /// The TLS configuration of listeners. It can be reloaded for new connections while open ones keep theirs.
  ///
  /// TLS 1.2 is the oldest version supported (RFC 8996), with authenticated encryption only (RFC 9325 section 4.2).
  /// Safe from any thread.
  public final class ServerTLSContext: Sendable {
    private struct State {
      var files: ServerTLS
      var context: NIOSSLContext
      /// The same with the wire protocol's name for peers that negotiate one.
      var rpcContext: NIOSSLContext
      /// Verifies client certificates if there are revocation lists.
      var verifier: ClientCertificateVerifier?
      var expirySeconds: Int
    }

    private let state: Mutex<State>
    private let shutdownTimeout: TimeAmount
    /// Whether peers must present certificates. A reload does not change it.
    public let asksForCertificates: Bool

    /// Reads the files. Throws OpenSSL's error for files that are missing, invalid or do not belong together.
    ///
    /// - Parameter shutdownTimeout: The time to wait for a peer's `close_notify`. Peers that never send it, such as
    ///   many HTTP clients, would hold up every drain.
    public init(_ files: ServerTLS, shutdownTimeout: Duration = .milliseconds(500)) throws {
      asksForCertificates = files.clientCertificateAuthoritiesFile != nil
      self.shutdownTimeout = .milliseconds(shutdownTimeout.wholeMilliseconds)
      state = Mutex(try Self.read(files, self.shutdownTimeout))
    }

    /// The end of the served certificate's validity, in seconds since 1970.
    public var expirySeconds: Int { state.withLock { $0.expirySeconds } }

    /// Reads other files, or the same ones again, and returns a closure that applies them to new connections. Throws as
    /// `init` does; the current configuration is then unchanged.
    public func prepare(_ files: ServerTLS) throws -> @Sendable () -> Void {
      let read = try Self.read(files, shutdownTimeout)
      return { [self] in state.withLock { $0 = read } }
    }

    /// Adds TLS to a channel. Must be called on the channel's event loop, before bytes arrive.
    public func install(on channel: any Channel) throws { _ = try addHandlers(to: channel, \.context) }

    /// Adds TLS to a channel of the wire protocol and returns the handler that holds the peer's certificate.
    func addRPCHandlers(to channel: any Channel) throws -> NIOSSLServerHandler {
      try addHandlers(to: channel, \.rpcContext)
    }

    private func addHandlers(
      to channel: any Channel, _ context: KeyPath<State, NIOSSLContext>
    ) throws -> NIOSSLServerHandler {
      let state = state.withLock { $0 }
      let context = state[keyPath: context]
      let handler =
        if let verifier = state.verifier {
          NIOSSLServerHandler(
            context: context,
            customVerificationCallback: { chain, promise in promise.succeed(Self.judge(chain, verifier)) })
        } else { NIOSSLServerHandler(context: context) }
      try channel.pipeline.syncOperations.addHandlers(handler, TLSClosing())
      return handler
    }

    private static func judge(_ chain: [NIOSSLCertificate], _ verifier: ClientCertificateVerifier)
      -> NIOSSLVerificationResult
    {
      let der = chain.map { (try? $0.toDERBytes()) ?? [] }
      return verifier.refusal(ofChain: der) == nil ? .certificateVerified : .failed
    }

    private static func read(_ files: ServerTLS, _ shutdownTimeout: TimeAmount) throws -> State {
      let chain = try NIOSSLCertificate.fromPEMFile(files.certificateChainFile)
      let key = try NIOSSLPrivateKey(file: files.privateKeyFile, format: .pem)
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
      configuration.minimumTLSVersion = .tlsv12
      configuration.cipherSuiteValues = TLSSuites.authenticated
      configuration.shutdownTimeout = shutdownTimeout
      if let file = files.clientCertificateAuthoritiesFile {
        configuration.trustRoots = .file(file)
        configuration.certificateVerification = .noHostnameVerification
      }
      let context = try NIOSSLContext(configuration: configuration)
      configuration.applicationProtocols = [ClientTLS.applicationProtocol]
      return State(
        files: files, context: context, rpcContext: try NIOSSLContext(configuration: configuration),
        verifier: try verifier(files),
        expirySeconds: chain.map { Int($0.notValidAfter) }.min() ?? 0)
    }

    private static func verifier(_ files: ServerTLS) throws -> ClientCertificateVerifier? {
      guard let list = files.clientRevocationListFile, let authorities = files.clientCertificateAuthoritiesFile else {
        return nil
      }
      do {
        let texts = try [authorities, list].map { try contents(of: $0) }
        return try ClientCertificateVerifier(authoritiesPEM: texts[0], revocationListsPEM: texts[1])
      } catch { throw RevocationListError(description: "cannot use the revocation list \(list): \(error)") }
    }

    private static func contents(of path: String) throws -> [UInt8] {
      guard let file = fopen(path, "r") else { throw IOError(errnoCode: errno, reason: path) }
      defer { fclose(file) }
      var bytes = [UInt8](repeating: 0, count: listBytesMax + 1)
      let count = fread(&bytes, 1, bytes.count, file)
      guard count <= listBytesMax else {
        throw RevocationListError(description: "\(path) is longer than \(listBytesMax) bytes")
      }
      return Array(bytes[..<count])
    }

    private static let listBytesMax = 16 * 1024 * 1024
  }

  /// The reason why a revocation list cannot be used.
  struct RevocationListError: Error, CustomStringConvertible {
    let description: String
  }

  /// The cipher suites of TLS 1.2 with authenticated encryption; those of TLS 1.3 all have it.
  enum TLSSuites {
    static let authenticated: [NIOTLSCipher] = [
      .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
      .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
      .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
      .TLS_AES_128_GCM_SHA256, .TLS_AES_256_GCM_SHA384, .TLS_CHACHA20_POLY1305_SHA256,
    ]
  }
#endif
