import APNs
import CampanileCrypto
import Synchronization

/// The simulated APNs without its sockets: judges requests, keeps what devices would display, and makes faults happen.
final class Simulator: Sendable {
  let state: Mutex<State>
  let nowMs: @Sendable () -> Int64
  let idleTimeoutMs: Int64
  private let makeID: @Sendable () -> String

  /// Everything that a simulator knows.
  struct State: Sendable {
    var limits: SimulatorLimits
    var keyring = SigningKeyring()
    /// By token, in lower-case digits.
    var devices: [String: DeviceRecord] = [:]
    /// By token, or by `channel/` and the channel's id.
    var screens: [String: Screen] = [:]
    var channels: [String: ChannelRecord] = [:]
    var log: PushLog
    var statistics = SimulatorStatistics()
    var faults: FaultPlan
    var journal: Journal?
  }

  /// - Parameters:
  ///   - seed: what random faults follow from.
  ///   - makeID: makes a UUID for requests without `apns-id`, and channel ids.
  init(
    limits: SimulatorLimits, seed: UInt64, nowMs: @escaping @Sendable () -> Int64,
    makeID: @escaping @Sendable () -> String
  ) {
    state = Mutex(
      State(limits: limits, log: PushLog(countMax: limits.loggedPushesMax), faults: FaultPlan(seed: seed)))
    self.nowMs = nowMs
    idleTimeoutMs = limits.idleTimeoutMs
    self.makeID = makeID
  }

  /// Judges a request and does what it asks for.
  func handle(_ request: PushRequest, connection: inout ConnectionUse) -> Outcome {
    let nowMs = nowMs()
    let newID = makeID()
    var use = connection
    let outcome = state.withLock { state in
      state.handle(request, connection: &use, nowMs: nowMs, newID: newID)
    }
    connection = use
    return outcome
  }
}

extension Simulator {
  var limits: SimulatorLimits { state.withLock { $0.limits } }

  /// Counts one more.
  func count(_ counter: any WritableKeyPath<SimulatorStatistics, Int> & Sendable) {
    state.withLock { $0.statistics[keyPath: counter] += 1 }
  }

  /// Adds or replaces a key. Throws `CryptoError` when its PEM is none, or `keysMax` keys are there.
  func add(_ key: SigningKey) throws(CryptoError) {
    try state.withLock { state throws(CryptoError) in
      guard state.keyring.count < state.limits.keysMax else {
        throw CryptoError(.keyUnsupported, "there are \(state.limits.keysMax) keys")
      }
      try state.keyring.add(key)
    }
  }

  /// Takes what a journal says and continues it.
  func resume(_ journal: Journal) { state.withLock { _ = $0.resume(journal) } }

  /// Forgets everything but the keys and settings.
  func reset() {
    state.withLock { state in
      state.forget(nil)
      state.journal?.append(forgotten: nil)
      state.log.removeAll()
      state.statistics = SimulatorStatistics()
      state.faults.removeAll()
    }
  }
}
