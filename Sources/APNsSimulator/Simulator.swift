import APNs
import CampanileCrypto
import CampanileService
import Synchronization

/// The simulated APNs without its servers: validates requests, tracks what devices would display, and injects faults.
final class Simulator: Sendable {
  let state: Mutex<State>
  let nowMs: @Sendable () -> Int64
  let idleTimeoutMs: Int64
  private let makeID: @Sendable () -> String
  /// Wakes the watches of screens and pushes.
  let hub = WatchHub(limits: SimulatorServiceLimits())
  /// The name of all watchers at `hub`.
  static let watchers = "*"

  /// The complete state of a simulator.
  struct State: Sendable {
    var limits: SimulatorLimits
    var keyring = SigningKeyring()
    /// Devices by token in lower-case hexadecimal.
    var devices: [String: DeviceRecord] = [:]
    /// Screens by token, or by `channel/` and the channel's id.
    var screens: [String: Screen] = [:]
    var channels: [String: ChannelRecord] = [:]
    /// Devices without a connection: their names, or tokens of devices of their own.
    var offlineDevices: Set<String> = []
    /// The notification that APNs stores for an offline device and a bundle id.
    var storedPushes: [StoredPush.Place: StoredPush] = [:]
    var histories: ScreenHistories
    /// The keys of the screens that changed.
    var screenLog: RecentLog<String>
    var log: PushLog
    var statistics = SimulatorStatistics()
    var faults: FaultPlan
    var journal: Journal?
  }

  /// Creates a simulator without devices, channels and keys.
  ///
  /// - Parameters:
  ///   - seed: Seed of random faults.
  ///   - makeID: Returns a UUID for a request without `apns-id`.
  init(
    limits: SimulatorLimits, seed: UInt64, nowMs: @escaping @Sendable () -> Int64,
    makeID: @escaping @Sendable () -> String
  ) {
    state = Mutex(
      State(
        limits: limits,
        histories: ScreenHistories(countMax: limits.statesPerScreenMax, bytesMax: limits.stateBytesMax),
        screenLog: RecentLog(epoch: UInt64.random(in: .min ... .max), countMax: limits.screenChangesMax),
        log: PushLog(countMax: limits.loggedPushesMax), faults: FaultPlan(seed: seed)))
    self.nowMs = nowMs
    idleTimeoutMs = limits.idleTimeoutMs
    self.makeID = makeID
  }

  /// Validates a request and applies its effects.
  func handle(_ request: ReceivedPush, connection: inout ConnectionUse) -> Outcome {
    let nowMs = nowMs()
    let newID = makeID()
    var use = connection
    let outcome = state.withLock { state in
      state.handle(request, connection: &use, nowMs: nowMs, newID: newID)
    }
    connection = use
    hub.notify(user: Self.watchers)
    return outcome
  }

  /// Changes the state, and wakes the watches.
  func change<T: Sendable>(_ body: (inout State) -> T) -> T {
    let result = state.withLock { body(&$0) }
    hub.notify(user: Self.watchers)
    return result
  }
}

extension Simulator {
  var limits: SimulatorLimits { state.withLock { $0.limits } }

  /// Increments a counter.
  func count(_ counter: any WritableKeyPath<SimulatorStatistics, Int> & Sendable) {
    state.withLock { $0.statistics[keyPath: counter] += 1 }
  }

  /// Adds or replaces a key. Throws `CryptoError` if its PEM is invalid or there are already `keysMax` keys.
  func add(_ key: SigningKey) throws(CryptoError) {
    try state.withLock { state throws(CryptoError) in
      guard state.keyring.count < state.limits.keysMax else {
        throw CryptoError(.keyUnsupported, "the limit of \(state.limits.keysMax) keys is reached")
      }
      try state.keyring.add(key)
    }
  }

  /// Restores the state from a journal and continues to write it.
  func resume(_ journal: Journal) { state.withLock { _ = $0.resume(journal) } }

  /// Clears everything except keys and settings.
  func reset() {
    change { state in
      state.forget(nil)
      state.journal?.append(forgotten: nil)
      state.log.removeAll()
      state.statistics = SimulatorStatistics()
      state.faults.removeAll()
    }
  }
}
