public import NIOCore
import NIOSSL
import Synchronization

/// The TLS of listeners: what new connections are shown, which can be read again while open connections go on with what they had.
///
/// TLS 1.2 is the oldest version spoken (RFC 8996). Safe from any thread.
public final class ServerTLSContext: Sendable {
  private struct State {
    var files: ServerTLS
    var context: NIOSSLContext
    var expirySeconds: Int
  }

  private let state: Mutex<State>
  private let shutdownTimeoutMs: Int64
  /// Whether peers must present certificates. That stays as it was made.
  public let asksForCertificates: Bool

  /// Reads the files. Throws what OpenSSL says of files that cannot be read, that are none, or that do not belong together.
  ///
  /// - Parameter shutdownTimeoutMs: how long a peer has to say that it closes, too. Those who never do, as many HTTP clients, would
  ///   hold up every drain.
  public init(_ files: ServerTLS, shutdownTimeoutMs: Int64 = 500) throws {
    asksForCertificates = files.clientCertificateAuthoritiesFile != nil
    self.shutdownTimeoutMs = shutdownTimeoutMs
    state = Mutex(try Self.read(files, shutdownTimeoutMs))
  }

  /// When the certificate that listeners show ceases to be valid, in seconds since 1970.
  public var expirySeconds: Int { state.withLock { $0.expirySeconds } }

  /// Reads other files, or the same ones again, and answers what has new connections use them. Throws as `init` does, and nothing
  /// has changed then.
  public func prepare(_ files: ServerTLS) throws -> @Sendable () -> Void {
    let read = try Self.read(files, shutdownTimeoutMs)
    return { [self] in state.withLock { $0 = read } }
  }

  /// Makes a channel speak TLS. Must be called on the channel's event loop, before bytes come.
  public func install(on channel: any Channel) throws { _ = try addHandlers(to: channel) }

  /// The same, and answers the handler that knows the peer's certificate.
  func addHandlers(to channel: any Channel) throws -> NIOSSLServerHandler {
    let handler = NIOSSLServerHandler(context: state.withLock { $0.context })
    try channel.pipeline.syncOperations.addHandlers(handler, TLSClosing())
    return handler
  }

  private static func read(_ files: ServerTLS, _ shutdownTimeoutMs: Int64) throws -> State {
    let chain = try NIOSSLCertificate.fromPEMFile(files.certificateChainFile)
    let key = try NIOSSLPrivateKey(file: files.privateKeyFile, format: .pem)
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    configuration.shutdownTimeout = .milliseconds(shutdownTimeoutMs)
    if let file = files.clientCertificateAuthoritiesFile {
      configuration.trustRoots = .file(file)
      configuration.certificateVerification = .noHostnameVerification
    }
    return State(
      files: files, context: try NIOSSLContext(configuration: configuration),
      expirySeconds: chain.map { Int($0.notValidAfter) }.min() ?? 0)
  }
}
