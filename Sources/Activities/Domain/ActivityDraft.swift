import CampanileAPI
import CampanileCodec

/// A validated activity to start.
struct ActivityDraft: Sendable, Hashable {
  /// Empty: the repository generates an id.
  var id = ""
  var app: String
  var environment: String
  var origin: ActivityOrigin
  var contentState: ProtoStruct
  var start = StartContent()
  /// Nil starts immediately.
  var startAtMs: Int64?
  var endAtMs: Int64?
  var staleMs: Int64?
  var relevanceScore: Double?
  var renews = false
  var channelID = ""
  var driver: ActivityDriver?
  /// A W3C trace context for the delivery log.
  var traceParent: String?
}

/// A change of a live activity.
struct ActivityChange: Sendable, Hashable {
  /// Nil keeps the state.
  var contentState: ProtoStruct?
  var alert: Alert?
  var staleMs: Int64?
  /// Nil keeps the score.
  var relevanceScore: Double?
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
