import CampanileAPI
import CampanileCodec
import CampanileService

/// An activity as stored in the database: the columns that an update reads and writes.
///
/// `StartContent` holds the content that only a start needs.
struct StoredActivity: Sendable, Hashable {
  var user: String
  var id: String
  var app: String
  var environment: String
  var status: ActivityStatus
  var origin: ActivityOrigin
  /// The state as the caller sent it: the JSON of an object.
  var contentState: String
  var createdMs: Int64
  var updatedMs: Int64
  var startMs: Int64
  /// Time at which it ends automatically.
  var expireMs: Int64
  var scheduledEndMs: Int64?
  var endedMs: Int64?
  var endReason: EndReason = .unspecified
  var staleMs: Int64?
  var relevanceScore: Double?
  /// Seconds since 1970 of the newest push.
  var apsTimestamp: Int64
  var renews: Bool
  /// Number of renewals. Each token belongs to one generation.
  var generation: Int64 = 0
  var channelID: String
  /// The group that is updated together; empty for none.
  var groupID = ""
  /// Whether its owner stopped its pushes: only its end is pushed.
  var arePushesStopped = false
  /// Ids of the update tokens in use.
  var tokenIDs: [String] = []
  /// Version of the activity, 1 for its first state. If it is greater, a new token must receive the current state.
  var version: Int64 = 1
  var driver: ActivityDriver?

  var isLive: Bool { status != .ended }

  /// Whether a device may display it now, so that its states are pushed.
  var isPushed: Bool { status == .active && !arePushesStopped }

  /// Whether the app that started the activity already shows its state. False for a state that this service created.
  var isAsStartedByApp: Bool {
    if case .unread(let state) = driver, origin == .local, state.sequence > 0 { return false }
    return version <= 1
  }

  /// The approximate size of the message in a page.
  var pageBytes: Int { contentState.utf8.count + 512 }

  /// The activity as an API message.
  var message: Activity {
    var activity = Activity(
      id: id, app: app, environment: environment, status: status, origin: origin, contentStateJson: contentState,
      createTime: ProtoTimestamp(millisecondsSince1970: createdMs),
      updateTime: ProtoTimestamp(millisecondsSince1970: updatedMs),
      startTime: ProtoTimestamp(millisecondsSince1970: startMs),
      expireTime: ProtoTimestamp(millisecondsSince1970: expireMs),
      scheduledEndTime: scheduledEndMs.map { ProtoTimestamp(millisecondsSince1970: $0) },
      endTime: endedMs.map { ProtoTimestamp(millisecondsSince1970: $0) }, endReason: endReason,
      staleTime: staleMs.map { ProtoTimestamp(millisecondsSince1970: $0) }, relevanceScore: relevanceScore,
      apsTimestamp: apsTimestamp, updateTokenCount: Int32(clamping: tokenIDs.count), renews: renews,
      renewalCount: Int32(clamping: generation), channelId: channelID, etag: Etag.text(version: version),
      groupId: groupID, pushesStopped: arePushesStopped)
    switch driver {
    case .timer(let state): activity.driver = .timer(state)
    case .room(let state): activity.driver = .room(state)
    case .unread(let state): activity.driver = .unread(state)
    case nil: break
    }
    return activity
  }
}

/// The content and destination of a push that starts an activity.
struct StartContent: Sendable, Hashable {
  var attributesType = ""
  /// The JSON of an object; nil if there is none.
  var attributes: String?
  var alert: Alert?
  /// Empty for all installations.
  var installationID = ""

  var isComplete: Bool { !attributesType.isEmpty && attributes != nil && alert?.isComplete == true }
}
