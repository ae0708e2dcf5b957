internal import NIOCore
package import NIOSSL

/// How a client proves the server's name and, for mutual TLS, its own. Paths are of PEM files.
public struct ClientTLS: Sendable, Hashable {
  /// The authorities that are believed. `nil`: those of the system.
  public var trustRootsPath: String?
  /// This client's certificate, its own one first. Needs `privateKeyPath`.
  public var certificateChainPath: String?
  public var privateKeyPath: String?
  /// The name that the server's certificate must have. `nil`: the host of its address. A certificate for the IP address that is
  /// connected to is taken, too.
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

  /// Reads the files. Throws INVALID_ARGUMENT `TLS_CONFIGURATION_INVALID`.
  package func makeContext() throws(RPCError) -> NIOSSLContext {
    do {
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.minimumTLSVersion = .tlsv12
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

  /// The name to ask for; `nil` for an IP address, which server name indication does not allow (RFC 6066 section 3).
  package func serverName(for host: String) -> String? {
    let name = serverName ?? host
    return (try? SocketAddress(ipAddress: name, port: 0)) == nil ? name : nil
  }
}
