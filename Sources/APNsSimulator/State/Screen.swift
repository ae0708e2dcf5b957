import APNs

/// The display of a token's device, or of a channel's devices.
struct Screen: Sendable, Hashable {
  var bundleID: String
  var kind: DeviceRecord.Kind
  /// JSON text of the Live Activity's newest content-state.
  var contentState: String?
  var event: LiveActivityEvent?
  /// Time stamp of the newest state in seconds since 1970.
  var timestampSeconds: Int64?
  var staleDateSeconds: Int64?
  var dismissalDateSeconds: Int64?
  var relevanceScore: Double?
  /// JSON text of the newest start's attributes.
  var attributes: String?
  var attributesType: String?
  /// JSON text of the newest alert.
  var alert: String?
  var starts = 0
  var updates = 0
  var ends = 0
  var alerts = 0
  var backgrounds = 0
  /// Reloads of widgets or of a control.
  var reloads = 0
  /// The source of updates of the newest start's activity; nil before a start.
  var updateSource: UpdateSource?
  /// The channel of the newest start.
  var channelID: String?
  /// Pushes with priority 10, which count towards the budget.
  var highPriority = 0
  /// States with the same timestamp as the previous one but different content.
  var sameTimestamps = 0
  var discards: [Discard: Int] = [:]
  var updatedAtMs: Int64 = 0
  var lastID = ""
  private(set) var budget = DeviceBudget()
  /// Time of the activity's end; nil while it has not ended.
  var endedAtMs: Int64?
  var lastDiscard: ScreenDiscardRecord?

  /// The source of a remotely started activity's updates (`input-push-token`, `input-push-channel`).
  enum UpdateSource: String, Sendable, Hashable {
    case token, channel
    /// A start with neither is displayed, but never updated.
    case nothing
  }

  /// The rules of a display beyond the push: a device's budgets, and the existing channels.
  struct Surroundings {
    var limits: SimulatorLimits
    var hasChannel: (String) -> Bool
  }

  var isEnded: Bool { ends > 0 && kind != .start }
  /// The number of states that were displayed.
  var stateCount: Int { starts + updates + ends + alerts }

  init(bundleID: String, kind: DeviceRecord.Kind) {
    self.bundleID = bundleID
    self.kind = kind
  }

  /// Displays a push. Returns the cause if the device ignores it.
  mutating func show(
    _ payload: [UInt8], push: AcceptedPush, id: String, nowMs: Int64, _ surroundings: Surroundings
  ) -> Discard? {
    updatedAtMs = nowMs
    // APNs does not deliver a repeated push again.
    let isRepeat = id == lastID
    lastID = id
    if isRepeat { return nil }
    if push.priority == 10 { highPriority += 1 }
    do throws(Discard) {
      try apply(payload, push: push, nowMs: nowMs, surroundings)
      return nil
    } catch {
      discards[error, default: 0] += 1
      lastDiscard = ScreenDiscardRecord(reason: error, id: id, atMs: nowMs)
      return error
    }
  }

  private mutating func apply(
    _ payload: [UInt8], push: AcceptedPush, nowMs: Int64, _ surroundings: Surroundings
  ) throws(Discard) {
    guard let content = try? PushContent(payload) else { throw .notJSON }
    let limits = surroundings.limits
    guard push.topic.pushType == .liveactivity else {
      guard content.hasAPS else { throw .noAPS }
      switch push.topic.pushType {
      case .background:
        guard budget.take(nowMs: nowMs, perHourMax: limits.backgroundsPerHourMax) else { throw .withheld }
        backgrounds += 1
      case .widgets, .controls:
        guard content.isReload else { throw .noContentChanged }
        reloads += 1
      default:
        alerts += 1
        alert = content.alert
      }
      return
    }
    switch try EventRules.check(content, kind: kind) {
    case .start: try start(content, surroundings)
    case .update:
      try checkOrder(content)
      if push.priority == 10, !budget.take(nowMs: nowMs, perHourMax: limits.updatesPerHourMax) { throw .withheld }
      try update(content)
    case .end:
      try end(content)
      endedAtMs = nowMs
    }
  }

  private mutating func start(_ content: PushContent, _ surroundings: Surroundings) throws(Discard) {
    if let channelID = content.channelID, !surroundings.hasChannel(channelID) { throw .noChannel }
    starts += 1
    endedAtMs = nil
    channelID = content.channelID
    let source: UpdateSource = content.asksForToken ? .token : .nothing
    updateSource = content.channelID == nil ? source : .channel
    attributes = content.attributes
    attributesType = content.attributesType
    alert = content.alert
    take(content)
  }

  private mutating func update(_ content: PushContent) throws(Discard) {
    try checkOrder(content)
    updates += 1
    take(content)
  }

  private mutating func end(_ content: PushContent) throws(Discard) {
    try checkOrder(content)
    ends += 1
    take(content)
  }

  private func checkOrder(_ content: PushContent) throws(Discard) {
    if isEnded { throw .afterEnd }
    if let last = timestampSeconds, let new = content.timestampSeconds, new < last { throw .oldTimestamp }
  }

  private mutating func take(_ content: PushContent) {
    if content.timestampSeconds == timestampSeconds, content.contentState != contentState { sameTimestamps += 1 }
    event = content.event
    timestampSeconds = content.timestampSeconds
    // An end without a state keeps the last one.
    contentState = content.contentState ?? contentState
    staleDateSeconds = content.staleDateSeconds
    dismissalDateSeconds = content.dismissalDateSeconds
    relevanceScore = content.relevanceScore
    if content.alert != nil { alert = content.alert }
  }
}

/// A push that a device ignored.
struct ScreenDiscardRecord: Sendable, Hashable {
  var reason: Discard
  var id: String
  var atMs: Int64
}
