import CampanileBase
internal import NIOCore

#if TLS
  internal import NIOSSL
#endif

/// The state shared by all parts of one client.
final class ClientResources: Sendable {
  let configuration: ClientConfiguration
  #if TLS
    let sslContext: NIOSSLContext?
  #endif
  let contexts = LoopLocal { LoopContext($0) }
  let environment: ClientEnvironment

  /// Throws INVALID_ARGUMENT for an invalid configuration.
  init(_ configuration: ClientConfiguration, _ environment: ClientEnvironment) throws(RPCError) {
    try configuration.check()
    self.configuration = configuration
    #if TLS
      sslContext = try configuration.tls?.makeContext(applicationProtocols: [ClientTLS.applicationProtocol])
    #endif
    self.environment = environment
  }

  /// Has the loops use the addresses to which the configured names resolve, until the task is cancelled.
  func resolve(_ names: Set<String>, for loops: [LoopClient]) async {
    let intervalMs = configuration.resolveInterval.wholeMilliseconds
    var resolved = ResolvedNames()
    while !Task.isCancelled {
      resolved.note(await environment.resolver.addresses(of: names, timeoutMs: intervalMs))
      let endpoints = resolved.endpoints(of: configuration.addresses)
      for one in loops { one.loop.execute { one.use(endpoints) } }
      try? await Task.sleep(for: .milliseconds(intervalMs))
    }
  }

  /// Returns the proof of the internal token for one connection, with a fresh nonce; nil if the client sends a token or
  /// has none.
  func makeProver() -> HelloProver? {
    guard configuration.presentedToken == nil, let token = configuration.internalToken else { return nil }
    // Without randomness the nonce is empty, and servers reject it.
    return HelloProver(token: token, nonce: environment.randomBytes().map(InternalTokenProof.nonce) ?? "")
  }
}
