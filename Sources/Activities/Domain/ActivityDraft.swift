import CampanileAPI
import CampanileCodec

/// An activity to be started, checked.
struct ActivityDraft: Sendable, Hashable {
  /// Empty lets the repository choose.
  var id = ""
  var app: String
  var environment: String
  var origin: ActivityOrigin
  var contentState: ProtoStruct
  var start = StartContent()
  /// Nil starts at once.
  var startAtMs: Int64?
  var endAtMs: Int64?
  var staleMs: Int64?
  var relevanceScore: Double?
  var renews = false
  var channelID = ""
  var driver: ActivityDriver?
  /// A W3C trace context for the ledger.
  var traceParent: String?
}

/// What becomes of a live activity.
struct ActivityChange: Sendable, Hashable {
  /// Nil keeps the state.
  var contentState: ProtoStruct?
  var alert: Alert?
  var staleMs: Int64?
  /// Nil keeps it.
  var relevanceScore: Double?
  var priority = PushPriority.automatic
  var driver: ActivityDriver?
  var end: End?
  /// Must be the current one when set.
  var etag = ""
  var traceParent: String?

  struct End: Sendable, Hashable {
    var reason: EndReason
    var dismissal: Dismissal
  }
}
