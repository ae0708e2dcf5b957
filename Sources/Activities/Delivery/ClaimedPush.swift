import APNs
import CampanileStore

/// A push in flight: its row and its token.
struct ClaimedPush: Sendable, Hashable {
  var order: PushOrder
  var apnsID: String
  var routeID: Int64
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
    apnsID = try row.text(1)
    self.routeID = routeID
    let pushTypeText = try row.text(7)
    guard let kind = PushKind(rawValue: try row.integer(2)), let pushType = PushType(rawValue: pushTypeText) else {
      throw StoreError(.corrupt, "a push has an unknown kind or type")
    }
    let targetID = try row.text(6)
    order = PushOrder(
      lane: try row.text(0), kind: kind, userID: try row.text(3), activityID: try row.textIfPresent(4),
      target: try row.integer(5) == PushTarget.channel("").kindNumber ? .channel(targetID) : .token(targetID),
      route: route, pushType: pushType, priority: PushPriority(rawValue: try row.integer(8)) ?? .automatic,
      payload: try row.bytes(9), expirationMs: try row.integerIfPresent(10), collapseID: try row.textIfPresent(11),
      traceParent: try row.textIfPresent(12))
    queuedAtMs = try row.integer(13)
    attempts = Int(try row.integer(14))
    isRenewed = try row.bool(15)
  }

  /// Returns the request to APNs.
  func request(ticket: UInt64, authorization: String) -> PushRequest {
    var request = PushRequest(
      ticket: ticket, path: "", authorization: authorization, id: apnsID, payload: order.payload)
    request.pushType = order.pushType.rawValue
    request.priority = Int(order.priority == .automatic ? PushPriority.high.rawValue : order.priority.rawValue)
    request.expiration = order.expirationMs.map { max(0, $0 / 1_000) }
    switch order.target {
    case .token:
      request.path = APNsPath.device + (token?.hexadecimal ?? "")
      request.topic = Topic(bundleID: order.route.app, pushType: order.pushType).text
      request.collapseID = order.collapseID
    case .channel(let id):
      request.path = APNsPath.broadcasts + order.route.app
      // A broadcast has no apns-id.
      (request.id, request.requestID) = ("", apnsID)
      request.channelID = id
    }
    return request
  }
}
