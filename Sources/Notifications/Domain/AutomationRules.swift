import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService

/// What is kept in the table `automation`; the raw value is its kind there.
enum AutomationKind: Int64, Sendable, CaseIterable {
  case template = 1
  case heartbeat = 2
  case webhook = 3

  /// Of each kind, for one user.
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

  /// NOT_FOUND for one that does not exist or belongs to another user: the two look the same.
  func notFound(_ id: String, field: String) -> RPCError {
    let reason: Reason =
      switch self {
      case .template: .templateNotFound
      case .heartbeat: .heartbeatNotFound
      case .webhook: .webhookNotFound
      }
    // The id comes from the request: no more of it is echoed than an id has.
    let shown = String(id.unicodeScalars.prefix(64))
    return RPCError(
      .notFound, "\(name) \(shown) does not exist", reason: reason.rawValue, errorMetadata: ["id": shown],
      fieldViolations: [.init(field: field, description: "does not exist", reason: reason.rawValue)])
  }

  var exhausted: RPCError {
    .exhausted("a user may have \(Self.countMax) \(name)s", .automationExhausted, limit: Self.countMax)
  }
}

/// A page of one kind, in the order of the ids.
struct AutomationQuery: Sendable, Hashable {
  var user: String
  var kind: AutomationKind
  var pageSize: Int
  /// Ids above this one; empty for the first page.
  var afterID: String

  init(
    _ kind: AutomationKind, pageSize: Int32, pageToken: String, user: String, limits: NotificationsLimits
  ) throws(RPCError) {
    var violations = Violations()
    self.user = user
    self.kind = kind
    self.pageSize = Paging.size(pageSize, limits, &violations)
    afterID = Paging.position(pageToken, parts: 1, scope: Self.scope(kind, user), &violations)?.first ?? ""
    try violations.check()
  }

  func nextPageToken(after id: String) -> String { Paging.token([id], scope: Self.scope(kind, user)) }

  private static func scope(_ kind: AutomationKind, _ user: String) -> [String] { ["automation.\(kind.name)", user] }
}
