internal import NIOSSL

/// What every part of one client shares.
final class ClientSettings: Sendable {
  let configuration: ClientConfiguration
  let sslContext: NIOSSLContext?
  let contexts = LoopLocal { LoopContext($0) }
  /// 0 up to 1, for jitter.
  let random: @Sendable () -> Double

  /// Throws INVALID_ARGUMENT for a configuration that cannot work.
  init(_ configuration: ClientConfiguration, random: @escaping @Sendable () -> Double) throws(RPCError) {
    try configuration.check()
    self.configuration = configuration
    sslContext = try configuration.tls?.makeContext()
    self.random = random
  }
}
