package import NIOCore
package import NIOHTTP1
import Synchronization

/// Limits for the connections of a `PageServer`, so that slow peers cannot lock out others.
package struct PageLimits: Sendable, Hashable {
  /// Maximum number of open connections. One more closes the connection that has waited longest for its peer.
  package var connectionsMax: Int
  /// Slow requests get 408. Connections that are slow in another way are closed.
  package var timeouts: HTTPTimeouts

  package init(connectionsMax: Int = 256, timeouts: HTTPTimeouts = HTTPTimeouts(answerTimeoutMs: 60_000)) {
    self.connectionsMax = connectionsMax
    self.timeouts = timeouts
  }
}

/// Serves complete responses to complete requests over HTTP/1.1, for operators and other programs with few requests.
package final class PageServer: Sendable {
  /// Decides how a request is served. `peer` is the peer's IP address.
  package typealias Planner = @Sendable (_ head: HTTPRequestHead, _ peer: String?) -> PagePlan

  private struct Entry {
    let channel: any Channel
    var isAnswering = false
    var since: NIODeadline
  }

  let limits: PageLimits
  let plan: Planner
  private let entries: Mutex<[ObjectIdentifier: Entry]> = Mutex([:])

  package init(_ limits: PageLimits, plan: @escaping Planner) {
    self.limits = limits
    self.plan = plan
  }

  /// Starts to listen.
  ///
  /// - Throws: `IOError` if the address cannot be bound.
  package func listen(host: String, port: Int, group: any EventLoopGroup) async throws -> HTTPListener {
    try await HTTPListener.listen(host: host, port: port, group: group) { try self.configure($0) }
  }

  private func configure(_ channel: any Channel) throws {
    // Lower than NIO's defaults.
    var decoderLimits = NIOHTTPDecoderLimitConfiguration()
    decoderLimits.maxHeaderFieldSize = 8192
    decoderLimits.maxHeaderListSize = 16_384
    decoderLimits.maxHeaderFieldCount = 64
    let connection = PageConnection(self)
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(connection.makeGate())
    try pipeline.configureHTTPServerPipeline(
      withPipeliningAssistance: true, withErrorHandling: false, withOutboundHeaderValidation: true,
      withEncoderConfiguration: .init(), withDecoderLimitConfiguration: decoderLimits)
    try pipeline.addHandler(connection)
  }

  /// Registers a connection and closes the oldest one if there are too many.
  ///
  /// The oldest is the connection that has waited longest for its peer. If there is none, it is the one whose response
  /// has taken longest.
  func add(_ channel: any Channel, since: NIODeadline) {
    let oldest: (any Channel)? = entries.withLock { entries in
      defer { entries[ObjectIdentifier(channel)] = Entry(channel: channel, since: since) }
      guard entries.count >= limits.connectionsMax else { return nil }
      let oldest = entries.min {
        ($0.value.isAnswering ? 1 : 0, $0.value.since) < ($1.value.isAnswering ? 1 : 0, $1.value.since)
      }
      return oldest.flatMap { entries.removeValue(forKey: $0.key)?.channel }
    }
    oldest?.close(promise: nil)
  }

  func update(_ channel: any Channel, _ timing: HTTPTiming) {
    entries.withLock {
      $0[ObjectIdentifier(channel)]?.isAnswering = timing.phase == .answering
      $0[ObjectIdentifier(channel)]?.since = timing.since
    }
  }

  func remove(_ channel: any Channel) { entries.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(channel)) } }
}
