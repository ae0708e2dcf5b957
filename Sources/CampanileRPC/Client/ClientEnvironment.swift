package import CampanileBase
package import NIOCore
internal import NIOPosix

/// A client's dependencies on the outside world, except its event loops, which are its clock.
package struct ClientEnvironment: Sendable {
  package typealias Dial =
    @Sendable (
      _ address: HostPort, _ loop: any EventLoop, _ limit: TimeAmount
    ) -> EventLoopFuture<any Channel>

  /// Returns a number from 0 to 1, for jitter.
  package var random: @Sendable () -> Double
  /// Returns unpredictable bytes for nonces; nil if the system has none.
  package var randomBytes: @Sendable () -> [UInt8]?
  /// Opens a connection.
  package var dial: Dial
  package var resolver: any HostResolving = SystemHostResolver()

  package init(
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    randomBytes: @escaping @Sendable () -> [UInt8]? = InternalTokenProof.randomBytes,
    dial: @escaping Dial = Self.connect
  ) {
    self.random = random
    self.randomBytes = randomBytes
    self.dial = dial
  }

  /// Opens a TCP connection.
  @Sendable package static func connect(
    _ address: HostPort, _ loop: any EventLoop, _ limit: TimeAmount
  ) -> EventLoopFuture<any Channel> {
    ClientBootstrap(group: loop)
      .connectTimeout(limit)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .connect(host: address.host, port: address.port)
  }
}
