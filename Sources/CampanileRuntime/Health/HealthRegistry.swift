import Synchronization

/// The health of a server and of each service on it, as `grpc.health.v1.Health` tells it.
///
/// The empty name is the whole server; it exists from the beginning as NOT_SERVING. Safe to use from any thread.
public final class HealthRegistry: Sendable {
  /// Most watches open at once; `watch` answers nil beyond it.
  public static let maximumWatchers = 1024
  /// Most service names; further ones are ignored by `set`.
  public static let maximumServices = 1024

  private struct State {
    var statuses: [String: HealthStatus] = ["": .notServing]
    var isDraining = false
    var nextWatcher: UInt64 = 0
    var watchers: [UInt64: Watcher] = [:]
  }

  private struct Watcher {
    var service: String
    var last: HealthStatus
    var continuation: AsyncStream<HealthStatus>.Continuation
  }

  private let state = Mutex(State())

  public init() {}

  /// Sets the state of `service`; `serviceUnknown` removes it. Once draining has begun nothing changes any more, so
  /// that a late start-up step cannot call callers back to a server that is going away.
  public func set(_ service: String, _ status: HealthStatus) {
    state.withLock { state in
      guard !state.isDraining else { return }
      guard state.statuses[service] != nil || state.statuses.count < Self.maximumServices else { return }
      Self.apply(status, to: service, in: &state)
    }
  }

  /// Turns every service and the server NOT_SERVING for good and ends all watches after they have told it: the first
  /// step of a graceful shutdown. A watch that went on would be an open call that keeps the server from draining.
  public func beginDraining() {
    let ended = state.withLock { state in
      state.isDraining = true
      for service in state.statuses.keys { Self.apply(.notServing, to: service, in: &state) }
      defer { state.watchers.removeAll() }
      return Array(state.watchers.values)
    }
    // Outside the lock, because finishing runs onTermination, which takes it.
    for watcher in ended { watcher.continuation.finish() }
  }

  /// Whether a graceful shutdown has begun.
  public var isDraining: Bool { state.withLock { $0.isDraining } }

  /// The state of `service`; nil when the server has none of that name.
  public func status(of service: String) -> HealthStatus? {
    state.withLock { $0.statuses[service] }
  }

  /// The states of all services by name, the empty one included.
  public func list() -> [String: HealthStatus] {
    state.withLock { $0.statuses }
  }

  /// How many watches are open.
  public var watcherCount: Int {
    state.withLock { $0.watchers.count }
  }

  /// The state of `service` now and after each change; `serviceUnknown` while there is none of that name.
  ///
  /// Only the newest state is kept for a slow reader: the latest state is what counts, and so a watch never holds
  /// more than one element. Equal states are not repeated. The watch ends when its reader stops, and by
  /// itself when draining begins.
  /// - Returns: nil when `maximumWatchers` are open; callers answer RESOURCE_EXHAUSTED.
  public func watch(_ service: String) -> AsyncStream<HealthStatus>? {
    let (stream, continuation) = AsyncStream.makeStream(of: HealthStatus.self, bufferingPolicy: .bufferingNewest(1))
    let id: UInt64? = state.withLock { state in
      guard state.watchers.count < Self.maximumWatchers else { return nil }
      let id = state.nextWatcher
      state.nextWatcher += 1
      let status = state.statuses[service] ?? .serviceUnknown
      guard !state.isDraining else {
        continuation.yield(status)
        continuation.finish()
        return id
      }
      state.watchers[id] = Watcher(service: service, last: status, continuation: continuation)
      continuation.yield(status)
      return id
    }
    guard let id else { return nil }
    continuation.onTermination = { [weak self] _ in
      _ = self?.state.withLock { $0.watchers.removeValue(forKey: id) }
    }
    return stream
  }

  private static func apply(_ status: HealthStatus, to service: String, in state: inout State) {
    state.statuses[service] = status == .serviceUnknown ? nil : status
    for (id, watcher) in state.watchers where watcher.service == service && watcher.last != status {
      state.watchers[id]?.last = status
      watcher.continuation.yield(status)
    }
  }
}
