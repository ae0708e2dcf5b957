import Synchronization

/// The health of a server and its services, for `grpc.health.v1.Health`.
///
/// The empty name stands for the whole server. Its initial status is NOT_SERVING. Safe to use from any thread.
public final class HealthRegistry: Sendable {
  /// Maximum number of open watches; beyond it, `watch` returns nil.
  public static let maximumWatchers = 1024
  /// Maximum number of service names; `set` ignores further ones.
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

  /// Creates a registry in which the server and these services are SERVING.
  public convenience init(serving services: some Sequence<String>) {
    self.init()
    set("", .serving)
    for service in services { set(service, .serving) }
  }

  /// Sets the status of `service`; `serviceUnknown` removes it.
  ///
  /// Has no effect once draining has begun, so that a late start-up step cannot attract callers during a shutdown.
  public func set(_ service: String, _ status: HealthStatus) {
    state.withLock { state in
      guard !state.isDraining else { return }
      guard state.statuses[service] != nil || state.statuses.count < Self.maximumServices else { return }
      Self.apply(status, to: service, in: &state)
    }
  }

  /// Permanently sets the server and every service to NOT_SERVING, notifies all watches, and ends them.
  ///
  /// This is the first step of a graceful shutdown. An open watch is an open call and would prevent draining.
  public func beginDraining() {
    let ended = state.withLock { state in
      state.isDraining = true
      for service in state.statuses.keys { Self.apply(.notServing, to: service, in: &state) }
      defer { state.watchers.removeAll() }
      return Array(state.watchers.values)
    }
    // Outside the lock, because finishing runs onTermination, which acquires the lock.
    for watcher in ended { watcher.continuation.finish() }
  }

  /// Whether a graceful shutdown has begun.
  public var isDraining: Bool { state.withLock { $0.isDraining } }

  /// Returns the status of `service`; nil if the server has no such service.
  public func status(of service: String) -> HealthStatus? {
    state.withLock { $0.statuses[service] }
  }

  /// Returns the statuses of all services by name, including the empty name.
  public func list() -> [String: HealthStatus] {
    state.withLock { $0.statuses }
  }

  /// The number of open watches.
  public var watcherCount: Int {
    state.withLock { $0.watchers.count }
  }

  /// Returns the status of `service` now and after each change; `serviceUnknown` while there is no such service.
  ///
  /// The stream buffers only the latest status, because older ones do not matter to a slow reader. Equal statuses are
  /// not repeated. The watch ends when its reader stops or draining begins.
  ///
  /// - Returns: The stream; nil if `maximumWatchers` are open, which callers report as RESOURCE_EXHAUSTED.
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
