import APNs
import CampanileStore

/// A push in flight: its row and its token.
struct ClaimedPush: Sendable, Hashable {
  var lane: String
  var apnsID: String
  var route: PushRouteKey
  var routeID: Int64
  var kind: PushKind
  var userID: String
  var activityID: String?
  var target: PushTarget
  var pushType: PushType
  var priority: PushPriority
  var payload: [UInt8]
  var expirationMs: Int64?
  var collapseID: String?
  var traceParent: String?
  var queuedAtMs: Int64
  var attempts: Int
  var isRenewed: Bool
  /// Time of submission to the sender.
  var sentAtMs: Int64 = 0
  /// The destination token; nil for a broadcast.
  var token: DeviceToken?

  /// Columns of `pushes AS p`.
  static let columns = """
    p.lane, p.apns_id, p.kind, p.user_id, p.activity_id, p.target_kind, p.target_id, p.push_type, p.priority, p.payload,
    p.expiration_ms, p.collapse_id, p.trace_parent, p.queued_at_ms, p.attempts, p.is_renewed
    """
  static let columnCount = 16

  /// Reads a row of `columns`.
  init(_ row: borrowing SQLRow, route: PushRouteKey, routeID: Int64) throws {
    lane = try row.text(0)
    apnsID = try row.text(1)
    self.route = route
    self.routeID = routeID
    let pushTypeText = try row.text(7)
    guard let kind = PushKind(rawValue: try row.integer(2)), let pushType = PushType(rawValue: pushTypeText) else {
      throw StoreError(.corrupt, "a push has an unknown kind or type")
    }
    self.kind = kind
    self.pushType = pushType
    userID = try row.text(3)
    activityID = try row.textIfPresent(4)
    let targetID = try row.text(6)
    target = try row.integer(5) == PushTarget.channel("").kindNumber ? .channel(targetID) : .token(targetID)
    priority = PushPriority(rawValue: try row.integer(8)) ?? .automatic
    payload = try row.bytes(9)
    expirationMs = try row.integerIfPresent(10)
    collapseID = try row.textIfPresent(11)
    traceParent = try row.textIfPresent(12)
    queuedAtMs = try row.integer(13)
    attempts = Int(try row.integer(14))
    isRenewed = try row.bool(15)
  }

  /// Returns the request to APNs.
  func request(ticket: UInt64, authorization: String) -> PushRequest {
    var request = PushRequest(ticket: ticket, path: "", authorization: authorization, id: apnsID, payload: payload)
    request.pushType = pushType.rawValue
    request.priority = Int(priority == .automatic ? PushPriority.high.rawValue : priority.rawValue)
    request.expiration = expirationMs.map { max(0, $0 / 1_000) }
    switch target {
    case .token:
      request.path = APNsPath.device + (token?.hexadecimal ?? "")
      request.topic = Topic(bundleID: route.app, pushType: pushType).text
      request.collapseID = collapseID
    case .channel(let id):
      request.path = APNsPath.broadcasts + route.app
      request.channelID = id
    }
    return request
  }
}
