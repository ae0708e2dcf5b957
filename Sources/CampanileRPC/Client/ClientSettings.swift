internal import NIOSSL

/// What every part of one client shares.
final class ClientSettings: Sendable {
  let configuration: ClientConfiguration
  let sslContext: NIOSSLContext?
  let contexts = LoopLocal { LoopContext($0) }
  let environment: ClientEnvironment

  /// Throws INVALID_ARGUMENT for a configuration that cannot work.
  init(_ configuration: ClientConfiguration, _ environment: ClientEnvironment) throws(RPCError) {
    try configuration.check()
    self.configuration = configuration
    sslContext = try configuration.tls?.makeContext()
    self.environment = environment
  }
}
