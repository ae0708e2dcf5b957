import CampanileAPI
import CampanileCodec
import CampanileService

/// An activity as the database keeps it: what an update reads and writes. What only a start needs is apart (`StartContent`).
struct StoredActivity: Sendable, Hashable {
  var user: String
  var id: String
  var app: String
  var environment: String
  var status: ActivityStatus
  var origin: ActivityOrigin
  /// As it was given.
  var contentState: ProtoStruct
  var createdMs: Int64
  var updatedMs: Int64
  var startMs: Int64
  /// When it ends by itself.
  var expireMs: Int64
  var scheduledEndMs: Int64?
  var endedMs: Int64?
  var endReason: EndReason = .unspecified
  var staleMs: Int64?
  var relevanceScore: Double?
  /// Seconds since 1970 of the newest push.
  var apsTimestamp: Int64
  var renews: Bool
  /// How often it was renewed. Tokens belong to one of these generations.
  var generation: Int64 = 0
  var channelID: String
  /// Ids of the update tokens in use.
  var tokenIDs: [String] = []
  /// Changes since the first state. More than one: there is a state that a new token must be told.
  var version: Int64 = 1
  var driver: ActivityDriver?

  var isLive: Bool { status != .ended }

  /// Whether the app that started it shows its state already, which it does not where the state was made here.
  var isAsStartedByApp: Bool {
    if case .unread(let state) = driver, origin == .local, state.sequence > 0 { return false }
    return version <= 1
  }

  /// As callers see it, without its attributes.
  var message: Activity {
    var activity = Activity()
    activity.id = id
    activity.app = app
    activity.environment = environment
    activity.status = status
    activity.origin = origin
    activity.contentState = contentState
    activity.createTime = ProtoTimestamp(millisecondsSince1970: createdMs)
    activity.updateTime = ProtoTimestamp(millisecondsSince1970: updatedMs)
    activity.startTime = ProtoTimestamp(millisecondsSince1970: startMs)
    activity.expireTime = ProtoTimestamp(millisecondsSince1970: expireMs)
    activity.scheduledEndTime = scheduledEndMs.map { ProtoTimestamp(millisecondsSince1970: $0) }
    activity.endTime = endedMs.map { ProtoTimestamp(millisecondsSince1970: $0) }
    activity.endReason = endReason
    activity.staleTime = staleMs.map { ProtoTimestamp(millisecondsSince1970: $0) }
    activity.relevanceScore = relevanceScore
    activity.apsTimestamp = apsTimestamp
    activity.updateTokenCount = Int32(clamping: tokenIDs.count)
    activity.renews = renews
    activity.renewalCount = Int32(clamping: generation)
    activity.channelId = channelID
    activity.etag = Etag.text(version: version)
    switch driver {
    case .timer(let state): activity.driver = .timer(state)
    case .room(let state): activity.driver = .room(state)
    case .unread(let state): activity.driver = .unread(state)
    case nil: break
    }
    return activity
  }
}

/// What a push that starts an activity carries, and where it goes.
struct StartContent: Sendable, Hashable {
  var attributesType = ""
  /// The JSON of an object; nil when there is none.
  var attributes: String?
  var alert: Alert?
  /// Empty for all installations.
  var installationID = ""

  var isComplete: Bool { !attributesType.isEmpty && attributes != nil && alert?.isComplete == true }
}
