#if TLS
  package import CampanileBase
  internal import NIOCore
  package import NIOSSL

  /// A client's TLS configuration: verification of the server and, for mutual TLS, the client's certificate. Paths are
  /// of PEM files.
  public struct ClientTLS: Sendable, Hashable {
    /// The trusted certificate authorities. `nil`: those of the system.
    public var trustRootsPath: String?
    /// This client's certificate chain, leaf first. Requires `privateKeyPath`.
    public var certificateChainPath: String?
    public var privateKeyPath: String?
    /// The name that the server's certificate must have. `nil`: the host of its address. A certificate for the
    /// connected IP address is accepted, too.
    public var serverName: String?

    public init(
      trustRootsPath: String? = nil, certificateChainPath: String? = nil, privateKeyPath: String? = nil,
      serverName: String? = nil
    ) {
      self.trustRootsPath = trustRootsPath
      self.certificateChainPath = certificateChainPath
      self.privateKeyPath = privateKeyPath
      self.serverName = serverName
    }

    /// The name of the wire protocol in TLS's application-layer protocol negotiation (RFC 7301).
    static let applicationProtocol = "campanile/1"

    /// Reads the files. Throws INVALID_ARGUMENT `TLS_CONFIGURATION_INVALID` if one is missing or invalid.
    ///
    /// - Parameter applicationProtocols: The protocols to offer.
    package func makeContext(applicationProtocols: [String] = []) throws(RPCError) -> NIOSSLContext {
      do {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = applicationProtocols
        configuration.cipherSuiteValues = TLSSuites.authenticated
        if let trustRootsPath { configuration.trustRoots = .file(trustRootsPath) }
        if let certificateChainPath {
          configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(certificateChainPath).map {
            .certificate($0)
          }
        }
        if let privateKeyPath {
          configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: privateKeyPath, format: .pem))
        }
        return try NIOSSLContext(configuration: configuration)
      } catch {
        throw RPCError(
          .invalidArgument, "client TLS: \(error)", reason: "TLS_CONFIGURATION_INVALID", processed: false)
      }
    }

    /// Returns the name for server name indication; `nil` for an IP address, which SNI does not allow (RFC 6066 section
    /// 3).
    package func serverName(for host: String) -> String? {
      let name = serverName ?? host
      return (try? SocketAddress(ipAddress: name, port: 0)) == nil ? name : nil
    }
  }
#endif
