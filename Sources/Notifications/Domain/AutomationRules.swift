import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// The kind of an object in the table `automation`; the raw value is stored.
enum AutomationKind: Int64, Sendable, CaseIterable {
  case template = 1
  case heartbeat = 2
  case webhook = 3

  /// The maximum number of objects of each kind for one user.
  static let countMax = 200

  var prefix: StaticString {
    switch self {
    case .template: "t_"
    case .heartbeat: "h_"
    case .webhook: "w_"
    }
  }

  var name: String {
    switch self {
    case .template: "template"
    case .heartbeat: "heartbeat"
    case .webhook: "webhook"
    }
  }

  /// Returns NOT_FOUND for an object that does not exist or belongs to another user; the two are indistinguishable.
  func notFound(_ id: String, field: String) -> RPCError {
    let reason: Reason =
      switch self {
      case .template: .templateNotFound
      case .heartbeat: .heartbeatNotFound
      case .webhook: .webhookNotFound
      }
    return .missing(name, id, field: field, reason)
  }

  var exhausted: RPCError {
    .exhausted("a user may have \(Self.countMax) \(name)s", .automationExhausted, limit: Self.countMax)
  }
}

/// A query for one page of one kind, ordered by id.
struct AutomationQuery: Sendable, Hashable {
  var kind: AutomationKind
  var position: PositionQuery

  init(
    _ kind: AutomationKind, pageSize: Int32, pageToken: String, user: String, limits: NotificationsLimits
  ) throws(RPCError) {
    self.kind = kind
    position = try PositionQuery(
      user: user, pageSize: pageSize, pageToken: pageToken, scope: ["automation.\(kind.name)"], parts: 1, limits: limits
    )
  }
}
