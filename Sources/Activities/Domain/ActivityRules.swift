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
  /// Reads the signing keys that other processes have just added. Returns whether there are any.
  var learnKeys: @Sendable () async throws -> Bool = { false }
  /// The apps with Apple's entitlement for critical alerts.
  var criticalAlertApps: Set<String> = []
  /// Whether delivery results of alerts are stored until they are reported.
  var reportsDeliveries = false

  func dates(of app: String) -> ContentDates { contentDates[app] ?? .foundation }
}

/// Validation of request fields beyond their constraints in the contract. The other arguments are field paths and
/// configuration.
enum ActivityRules {
  /// Checks that a bundle id has no empty part, which its pattern cannot express.
  static func app(
    _ app: String, _ field: String, _ violations: inout Violations
  ) {
    let parts = app.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    if !app.isEmpty, parts.contains(where: \.isEmpty) {
      violations.add(field, "must not have an empty part before or after a dot", .appInvalid)
    }
  }

  /// Checks a URL that a tap opens: absolute, in printable ASCII, so that its length is its size in a payload.
  static func url(_ url: String, _ field: String, _ violations: inout Violations) {
    guard !url.isEmpty else { return }
    let isPrintable = url.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    let scheme = url.prefix { $0 != ":" }
    let isScheme =
      scheme.first?.isLetter == true && scheme.allSatisfy { $0.isLetter || $0.isNumber || "+-.".contains($0) }
    guard !isPrintable || !isScheme || url.utf8.count < scheme.utf8.count + 2 else { return }
    violations.add(field, "must be an absolute URL of printable ASCII characters", .urlInvalid)
  }

  static func environment(
    _ environment: String, _ field: String, _ policy: ActivitiesPolicy, _ violations: inout Violations
  ) {
    guard !environment.isEmpty, !policy.environments.contains(environment) else { return }
    let known = policy.environments.sorted().joined(separator: ", ")
    violations.add(field, "must be one of \(known)", .environmentUnknown)
  }

  /// Validates an alert. An activity's alert needs a title and a body, and its sound is not critical ("Starting and
  /// updating Live Activities with ActivityKit push notifications"); a notification's needs either text.
  static func alert(
    _ alert: Alert?, _ field: String, isOfActivity: Bool = true, _ violations: inout Violations
  ) {
    guard let alert else { return }
    if isOfActivity, !alert.isComplete {
      violations.add(field, "needs a title and a body", .required)
    } else if !alert.isVisible {
      violations.add(field, "needs a title or a body", .required)
    }
    guard let sound = alert.sound else { return }
    if isOfActivity, sound.critical {
      violations.add("\(field).sound.critical", "is not allowed in an activity's alert", .fieldNotAllowed)
    }
    if sound.volume != nil, !sound.critical {
      violations.add("\(field).sound.volume", "is for critical sounds only", .fieldNotAllowed)
    }
  }

  /// Validates the time at which an ended activity leaves the Lock Screen: at most 4 h after its end ("Displaying live
  /// data with Live Activities").
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
