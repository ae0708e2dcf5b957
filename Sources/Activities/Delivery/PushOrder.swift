import APNs

/// What a transaction asks to have pushed. It is queued in that transaction, so that both are kept or neither.
struct PushOrder: Sendable, Hashable {
  /// Pushes of one lane are sent in the order in which they were queued, one at a time.
  var lane: PushLane
  var kind: PushKind
  var userID: String
  /// The activity that the push is about; its ledger can be asked by it.
  var activityID: String?
  var target: PushTarget
  /// The app's bundle id. The topic follows from it and the push type.
  var app: String
  /// As configured: development, sandbox or production.
  var environment: String
  var pushType: PushType
  var priority: PushPriority = .automatic
  /// The whole JSON: at most `APNsLimits.payloadBytesMax(pushType)`, of a broadcast `largePayloadBytesMax`.
  var payload: [UInt8]
  /// When the push is of no use any more. Nil: APNs tries once, this service until it gives up.
  var expirationMs: Int64?
  /// 1 to 64 bytes.
  var collapseID: String?
  /// A W3C trace context, carried into the ledger.
  var traceParent: String?
  /// Not before this time; a time in the past means now.
  var dueMs: Int64
}

/// What has at most one push under way. An activity on several devices may have one lane; its states replace each other by
/// target.
enum PushLane: Sendable, Hashable {
  case activity(String)
  case token(String)
  case channel(String)

  /// The lane's name in the database.
  var text: String {
    switch self {
    case .activity(let id): "a:" + id
    case .token(let id): "t:" + id
    case .channel(let id): "c:" + id
    }
  }
}

/// What a push does. The numbers are in the database: never reuse one.
enum PushKind: Int64, Sendable, Hashable, CaseIterable {
  /// Starts an activity. Never replaced.
  case start = 1
  /// A state: replaces the lane's unsent update to the same target, which counts as coalesced.
  case update = 2
  /// The last state: replaces the lane's unsent updates.
  case end = 3
  case alert = 4
  case background = 5
  /// A state sent to a channel: replaces the lane's unsent broadcast.
  case broadcast = 6

  /// Whether a newer one makes it superfluous while it is unsent.
  var isState: Bool { self == .update || self == .broadcast }

  /// Whether a lane never holds more than a few of it: states replace each other, and an activity starts and ends once.
  var isBoundedByLane: Bool { isState || self == .end }
}

/// Where a push goes.
enum PushTarget: Sendable, Hashable {
  /// A row of the token registry, looked up when the push is sent.
  case token(String)
  /// A broadcast channel, by APNs' id.
  case channel(String)
}

/// How urgently a push is delivered (`apns-priority`).
enum PushPriority: Int64, Sendable, Hashable {
  /// 10 while the activity's budget has something left, otherwise 5.
  case automatic = 0
  case low = 5
  case high = 10
}
