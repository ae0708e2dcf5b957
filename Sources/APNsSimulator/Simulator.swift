import APNs
import CampanileCrypto
import Synchronization

/// A request that has come whole.
struct PushRequest: Sendable, Hashable {
  var method: String
  var path: String
  var fields: PushFields
  /// Cut off above every limit.
  var body: [UInt8]
  /// What came, at least.
  var bodyBytes: Int
}

/// What a connection was used for.
struct ConnectionUse: Sendable, Hashable {
  /// 1 for the first of this process.
  var number: Int
  var issue: ProviderIssue?
}

/// What is to be done with a request's stream and connection.
struct Outcome: Sendable, Hashable {
  enum Action: Sendable, Hashable {
    case answer(Answer)
    case answerAndGoAway(Answer)
    /// RST_STREAM: REFUSED_STREAM, or INTERNAL_ERROR when the request was processed.
    case reset(isProcessed: Bool)
    case close
    case nothing
  }

  var action: Action
  var delayMs: Int64 = 0
}

/// An answer of APNs.
struct Answer: Sendable, Hashable {
  var status: Int
  var id: String
  var refusal: Refusal?
  var channelID: String?
  /// JSON of a channel or a list of them.
  var body: String?
}

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
      state.devices = [:]
      state.screens = [:]
      state.channels = [:]
      state.log.removeAll()
      state.statistics = SimulatorStatistics()
      state.faults.removeAll()
    }
  }
}

extension Simulator.State {
  mutating func handle(
    _ request: PushRequest, connection: inout ConnectionUse, nowMs: Int64, newID: String
  ) -> Outcome {
    statistics.requests += 1
    let facts = facts(of: request, connection: connection, nowMs: nowMs)
    let (delayMs, fault) = faults.next(facts)
    let id = request.fields.id.flatMap { PushRules.isCanonicalUUID($0) ? $0.lowercased() : nil } ?? newID
    var discard: Discard?
    let action: Outcome.Action
    switch fault {
    case .answer(let refusal):
      action = .answer(Answer(status: refusal.reason.status, id: id, refusal: refusal))
    case .reset(false): action = .reset(isProcessed: false)
    case .close(false): action = .close
    case .stall(false): action = .nothing
    default:
      let answer = process(facts, request, id: id, connection: &connection, discard: &discard)
      switch fault {
      case .goAway: action = .answerAndGoAway(answer)
      case .reset: action = .reset(isProcessed: true)
      case .close: action = .close
      case .stall: action = .nothing
      default: action = .answer(answer)
      }
    }
    record(facts, id: id, connection: connection.number, action: action, fault: fault, discard: discard)
    return Outcome(action: action, delayMs: delayMs)
  }

  private mutating func facts(of request: PushRequest, connection: ConnectionUse, nowMs: Int64) -> PushFacts {
    let provider = keyring.judge(request.fields.authorization)
    var device: DeviceRecord?
    var channel: ChannelRecord?
    switch try? PushRules.address(method: request.method, path: request.path) {
    case .device(let token): device = devices[token.hexadecimal]
    case .broadcast(let bundleID), .channels(let bundleID, _):
      channel = request.fields.channelID.flatMap { channels[$0] }.flatMap { $0.bundleID == bundleID ? $0 : nil }
    case .allChannels, nil: break
    }
    var lastIssue = connection.issue
    if limits.tokenRenewalScope == .key, case .verified(_, let key) = provider {
      lastIssue = keyring.lastIssue(ofKey: key.keyID)
    }
    return PushFacts(
      method: request.method, path: request.path, fields: request.fields, bodyBytes: request.bodyBytes,
      provider: provider, connectionIssue: connection.issue, lastIssue: lastIssue, device: device, channel: channel,
      nowMs: nowMs)
  }

  private mutating func process(
    _ facts: PushFacts, _ request: PushRequest, id: String, connection: inout ConnectionUse, discard: inout Discard?
  ) -> Answer {
    switch PushRules.judge(facts, limits: limits) {
    case .failure(let refusal):
      return Answer(status: refusal.reason.status, id: id, refusal: refusal)
    case .success(let push):
      if case .verified(let token, _) = facts.provider {
        let issue = ProviderIssue(
          keyID: token.keyID, teamID: token.teamID, issuedAtSeconds: token.issuedAtSeconds, seenAtMs: facts.nowMs)
        if connection.issue?.issuedAtSeconds != token.issuedAtSeconds { connection.issue = issue }
        keyring.use(issue)
      }
      switch push.address {
      case .device, .broadcast:
        discard = show(push, request.body, id: id, nowMs: facts.nowMs)
        return Answer(status: 200, id: id)
      case .channels, .allChannels:
        return manageChannels(push.address, request, facts, id: id)
      }
    }
  }

  /// Displays a push where it belongs. Returns why the device ignores it.
  private mutating func show(_ push: AcceptedPush, _ payload: [UInt8], id: String, nowMs: Int64) -> Discard? {
    let key: String
    let kind: DeviceRecord.Kind
    if case .device(let token) = push.address {
      key = token.hexadecimal
      if let known = devices[key] {
        kind = known.kind
      } else {
        kind = push.topic.pushType == .liveactivity ? .live : .device
        if devices.count < limits.screensMax {
          devices[key] = DeviceRecord(bundleID: push.topic.bundleID, kind: kind, registeredAtMs: nowMs)
        }
      }
    } else {
      key = Self.channelKey(push.channelID ?? "")
      kind = .activity
    }
    journal?.append(push: push, key: key, kind: kind, payload: payload, id: id, nowMs: nowMs)
    return display(push, key: key, kind: kind, payload, id: id, nowMs: nowMs)
  }

  /// Also what a journal is read back with.
  mutating func display(
    _ push: AcceptedPush, key: String, kind: DeviceRecord.Kind, _ payload: [UInt8], id: String, nowMs: Int64
  ) -> Discard? {
    guard screens[key] != nil || screens.count < limits.screensMax else {
      statistics.untracked += 1
      return nil
    }
    return screens[key, default: Screen(bundleID: push.topic.bundleID, kind: kind)]
      .show(payload, push: push, id: id, nowMs: nowMs)
  }

  static func channelKey(_ id: String) -> String { "channel/\(id)" }

  private mutating func record(
    _ facts: PushFacts, id: String, connection: Int, action: Outcome.Action, fault: FaultAction?, discard: Discard?
  ) {
    var push = LoggedPush(
      sequence: 0, receivedAtMs: facts.nowMs, connection: connection, path: facts.path, topic: facts.fields.topic,
      pushType: facts.fields.pushType, priority: facts.fields.priority, expiration: facts.fields.expiration,
      collapseID: facts.fields.collapseID, id: id, bodyBytes: facts.bodyBytes, status: 0)
    push.fault = fault?.name
    push.discard = discard
    if let discard { statistics.discards[discard, default: 0] += 1 }
    switch action {
    case .answer(let answer), .answerAndGoAway(let answer):
      push.status = answer.status
      push.reason = answer.refusal?.reason.text
      push.detail = answer.refusal?.detail
      let label = answer.refusal.map { "\($0.reason.status) \($0.reason.text)" } ?? "\(answer.status)"
      statistics.answers[label, default: 0] += 1
      if case .answerAndGoAway = action { statistics.goAways += 1 }
    case .reset: statistics.resets += 1
    case .close: statistics.closes += 1
    case .nothing: statistics.stalls += 1
    }
    log.append(push)
  }
}
