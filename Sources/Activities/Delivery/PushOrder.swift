import APNs
import CampanileAPI

/// A push: its content, destination and lane. It is queued in the transaction that requests it, so that both commit or
/// neither does.
struct PushOrder: Sendable, Hashable {
  /// The text of its `PushLane`. Pushes of one lane are sent one at a time, in queue order.
  var lane: String
  var kind: PushKind
  var userID: String
  /// The activity of the push; the delivery log can be queried by it.
  var activityID: String?
  var target: PushTarget
  /// The app, which together with the push type determines the topic, and its environment.
  var route: PushRouteKey
  var pushType: PushType
  var priority: PushPriority = .automatic
  /// The complete JSON: at most `APNsLimits.payloadBytesMax(pushType)`, for a broadcast `largePayloadBytesMax`.
  var payload: [UInt8]
  /// Expiration time. Nil: APNs tries once, and this service retries until it gives up.
  var expirationMs: Int64?
  /// 1 to 64 bytes.
  var collapseID: String?
  /// A W3C trace context, copied to the delivery log.
  var traceParent: String?
  /// Set if the payload gets a receipt when the push is queued.
  var receipt: ReceiptSeed?
}

/// An ordered queue with at most one push in flight. If several targets share a lane, states replace each other by
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

/// The purpose of a push. Raw values are stored in the database; never reuse one.
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
  /// A reload of widgets or of a control: replaces the lane's unsent reload.
  case reload = 7

  /// Whether a newer push of this kind replaces it while it is unsent.
  var isState: Bool { self == .update || self == .broadcast || self == .reload }

  /// Whether a lane holds only a few pushes of this kind: states replace each other, and an activity starts and ends
  /// once.
  var isBoundedByLane: Bool { isState || self == .end }
}

/// The destination of a push.
enum PushTarget: Sendable, Hashable {
  /// A row of the token registry, resolved when the push is sent.
  case token(String)
  /// A broadcast channel, by APNs' id.
  case channel(String)
}

/// The priority of a push (`apns-priority`).
enum PushPriority: Int64, Sendable, Hashable {
  /// 10 while the activity's budget lasts, otherwise 5.
  case automatic = 0
  case low = 5
  case high = 10

  init(_ urgency: PushUrgency) {
    switch urgency {
    case .low: self = .low
    case .high: self = .high
    case .automatic, .unspecified, .unrecognized: self = .automatic
    }
  }

  var urgency: PushUrgency {
    switch self {
    case .automatic: .automatic
    case .low: .low
    case .high: .high
    }
  }
}
