package import NIOCore
internal import NIOPosix

/// What a client takes from the world beside its event loops, which are its clock.
package struct ClientEnvironment: Sendable {
  package typealias Dial =
    @Sendable (
      _ address: ClientConfiguration.Address, _ loop: any EventLoop, _ limit: TimeAmount
    ) -> EventLoopFuture<any Channel>

  /// 0 up to 1, for jitter.
  package var random: @Sendable () -> Double
  /// Makes a connection.
  package var dial: Dial

  package init(
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }, dial: @escaping Dial = Self.connect
  ) {
    self.random = random
    self.dial = dial
  }

  /// Over TCP.
  @Sendable package static func connect(
    _ address: ClientConfiguration.Address, _ loop: any EventLoop, _ limit: TimeAmount
  ) -> EventLoopFuture<any Channel> {
    ClientBootstrap(group: loop)
      .connectTimeout(limit)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .connect(host: address.host, port: address.port)
  }
}
