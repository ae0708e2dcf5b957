import CampanileBase
import CampanileRPC
import NIOCore
import Synchronization

/// The open streams of `WatchMany`, by their ids.
final class WatchStreams: Sendable {
  static let perPrincipalMax = 16
  private let streams = Mutex<[String: WatchStream]>([:])

  /// Adds a stream.
  ///
  /// - Throws: RESOURCE_EXHAUSTED `WATCH_STREAMS_EXHAUSTED` if the principal has too many.
  func add(_ stream: WatchStream) throws(RPCError) {
    try streams.withLock { streams throws(RPCError) in
      let principal = stream.call.principalName
      guard streams.values.count(where: { $0.call.principalName == principal }) < Self.perPrincipalMax else {
        throw RPCError(
          .resourceExhausted, "a principal has at most \(Self.perPrincipalMax) streams of watches",
          reason: "WATCH_STREAMS_EXHAUSTED", retryAfterMs: 1_000)
      }
      streams[stream.id] = stream
    }
  }

  func remove(_ stream: WatchStream) { streams.withLock { $0[stream.id] = nil } }

  /// Returns a stream of a credential; nil if there is none.
  func stream(_ id: String, owner: String) -> WatchStream? {
    streams.withLock { $0[id] }.flatMap { $0.owner == owner ? $0 : nil }
  }

  /// Ends all streams.
  func endAll(_ error: RPCError) {
    for stream in streams.withLock({ Array($0.values) }) { stream.loop.execute { stream.end(error) } }
  }

  /// Ends the streams whose credential was revoked or has expired.
  func endStale(nowMs: Int64) {
    for stream in streams.withLock({ Array($0.values) }) {
      stream.loop.execute { stream.endIfStale(nowMs: nowMs) }
    }
  }
}
