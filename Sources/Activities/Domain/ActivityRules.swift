import APNs
import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService

/// The operator's configuration that requests are validated against.
struct ActivitiesPolicy: Sendable {
  var environments: Set<String>
  /// Date formats by app; other apps use `foundation`.
  var contentDates: [String: ContentDates]
  /// Returns whether there is a signing key for an app in an environment.
  var canSign: @Sendable (_ app: String, _ environment: String) -> Bool
  /// Whether delivery results of alerts are stored until they are reported.
  var reportsDeliveries = false

  func dates(of app: String) -> ContentDates { contentDates[app] ?? .foundation }
}

/// Validation of request fields. The other arguments are field paths and configuration.
enum ActivityRules {
  static let attributesTypeMax = 256
  static let alertTextMax = 1_000
  static let alertArgsMax = 20
  static let channelIDMax = APNsLimits.channelIDBytesMax

  static func app(_ app: String, _ field: String, _ violations: inout Violations) {
    if app.isEmpty {
      violations.add(field, "must be the app's bundle id", .required)
    } else if !Topic.isBundleID(app) {
      violations.add(field, "must be a bundle id", .appInvalid)
    }
  }

  static func environment(
    _ environment: String, _ field: String, _ policy: ActivitiesPolicy, _ violations: inout Violations
  ) {
    let known = policy.environments.sorted().joined(separator: ", ")
    if environment.isEmpty {
      violations.add(field, "must be one of \(known)", .required)
    } else if !policy.environments.contains(environment) {
      violations.add(field, "must be one of \(known)", .environmentUnknown)
    }
  }

  /// Validates an id chosen by the caller; may be empty unless `isRequired`.
  static func identifier(_ id: String, _ field: String, isRequired: Bool = false, _ violations: inout Violations) {
    if id.isEmpty {
      if isRequired { violations.add(field, "must not be empty", .required) }
    } else if !TextRules.isIdentifier(id) {
      violations.add(field, "must be 1 to 128 characters of [A-Za-z0-9._:-]", .idInvalid)
    }
  }

  static func origin(_ origin: ActivityOrigin, _ violations: inout Violations) {
    switch origin {
    case .local, .remote: break
    case .unspecified: violations.add("origin", "must be LOCAL or REMOTE", .enumUnspecified)
    case .unrecognized: violations.add("origin", "must be LOCAL or REMOTE", .enumUnknown)
    }
  }

  /// Validates an alert. An activity's alert needs a title and a body; a notification's needs either.
  static func alert(
    _ alert: Alert?, _ field: String, isOfActivity: Bool = true, _ violations: inout Violations
  ) {
    guard let alert else { return }
    for (name, text) in [
      ("title", alert.title), ("body", alert.body), ("titleLocKey", alert.titleLocKey), ("locKey", alert.locKey),
      ("sound", alert.sound),
    ] {
      violations.text(text, "\(field).\(name)", max: alertTextMax)
    }
    for (name, args) in [("titleLocArgs", alert.titleLocArgs), ("locArgs", alert.locArgs)] {
      guard args.count <= alertArgsMax else {
        violations.add("\(field).\(name)", "must have at most \(alertArgsMax) entries", .tooMany)
        continue
      }
      for (index, text) in args.enumerated() {
        violations.text(text, "\(field).\(name)[\(index)]", max: alertTextMax)
      }
    }
    if isOfActivity, !alert.isComplete {
      violations.add(field, "needs a title and a body", .required)
    } else if !alert.isVisible {
      violations.add(field, "needs a title or a body", .required)
    }
  }

  static func relevance(_ score: Double?, _ field: String, _ violations: inout Violations) {
    guard let score else { return }
    if !score.isFinite || score < 0 || score > 1e9 { violations.add(field, "must be 0 to 1e9", .outOfRange) }
  }

  static func urgency(_ urgency: PushUrgency, _ field: String, _ violations: inout Violations) {
    if case .unrecognized = urgency { violations.add(field, "must be LOW or HIGH", .enumUnknown) }
  }

  /// Validates `aps.event` of a change. APNs has start, update and end, and a start is another call.
  static func event(_ event: String, _ field: String, _ violations: inout Violations) {
    guard !event.isEmpty, event != LiveActivityEvent.update.rawValue, event != LiveActivityEvent.end.rawValue else {
      return
    }
    violations.add(
      field, "must be update or end: APNs has no other events, pausing is an update with another state", .eventInvalid)
  }

  /// Validates the time at which an ended activity leaves the Lock Screen: at most 4 h after its end.
  static func dismissalMs(
    _ time: ProtoTimestamp?, endMs: Int64, _ field: String, _ violations: inout Violations
  ) -> Dismissal {
    guard let ms = TimeRules.milliseconds(time, field, &violations) else { return .automatic }
    let latest = endMs + Int64(APNsLimits.dismissalSecondsMax) * 1_000
    // Tolerate one second of clock difference with the caller.
    if ms > latest + 1_000 { violations.add(field, "must be at most 4 h after the end", .outOfRange) }
    return .at(min(ms, latest))
  }
}
