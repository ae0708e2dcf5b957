import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// A validated reload of a user's widgets and controls.
struct WidgetReload: Sendable, Hashable {
  /// The payload of every reload ("Updating widgets with WidgetKit push notifications", "Updating controls locally and
  /// remotely").
  static let payload = Array(#"{"aps":{"content-changed":true}}"#.utf8)

  var user: String
  /// Nil for all apps.
  var app: String?
  var kinds: [TokenKind]
  /// Nil for all controls.
  var controlID: String?
  var traceParent: String?

  /// Validates a request. Throws INVALID_ARGUMENT naming every invalid field.
  init(_ request: ReloadWidgetsRequest, traceParent: String?) throws(RPCError) {
    var violations = Violations()
    request.validate(into: &violations)
    ActivityRules.app(request.app, "app", &violations)
    if request.kind == .widgets, !request.controlId.isEmpty {
      violations.add("controlId", "is not allowed for widgets", .fieldNotAllowed)
    }
    try violations.check()
    user = request.userId
    app = request.app.isEmpty ? nil : request.app
    controlID = request.controlId.isEmpty ? nil : request.controlId
    switch request.kind {
    case .widgets: kinds = [.widgets]
    case .controls: kinds = [.control]
    default: kinds = controlID == nil ? [.widgets, .control] : [.control]
    }
    self.traceParent = traceParent
  }
}
