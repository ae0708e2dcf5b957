import CampanileAPI
import CampanileService

/// A validated activity to start.
struct ActivityDraft: Sendable, Hashable {
  /// Empty: the repository generates an id.
  var id = ""
  var app: String
  var environment: String
  var origin: ActivityOrigin
  /// The JSON of an object.
  var contentState: String
  var start = StartContent()
  /// Nil starts immediately.
  var startAtMs: Int64?
  var endAtMs: Int64?
  var staleMs: Int64?
  var relevanceScore: Double?
  var renews = false
  var channelID = ""
  var groupID = ""
  var driver: ActivityDriver?
  /// A W3C trace context for the delivery log.
  var traceParent: String?
}

/// A change of a live activity.
struct StateChange: Sendable, Hashable {
  /// The JSON of an object; nil keeps the state.
  var contentState: String?
  var alert: Alert?
  var staleMs = OptionalChange<Int64>.keep
  var relevanceScore = OptionalChange<Double>.keep
  var priority = PushPriority.automatic
  var driver: ActivityDriver?
  var end: End?
  /// Must match the current etag unless empty.
  var etag = ""
  var traceParent: String?

  struct End: Sendable, Hashable {
    var reason: EndReason
    var dismissal: Dismissal
  }
}

/// A change of a value that may be absent.
enum OptionalChange<Value: Sendable & Hashable>: Sendable, Hashable {
  case keep, clear
  case set(Value)

  /// Returns the value after the change.
  func applied(to old: Value?) -> Value? {
    switch self {
    case .keep: old
    case .clear: nil
    case .set(let value): value
    }
  }
}

/// A validated update of one activity, alone or as an entry of a batch.
struct ActivityUpdate: Sendable {
  var id: String
  var change: StateChange
  var idempotency: IdempotentRequest?
  /// The path of the entry in a batch (`requests[3].`); empty for a single update.
  var path = ""
}
