import CampanileAPI
import CampanileCodec
import CampanileService

/// The changes that wake a device, validated.
struct SubscriptionsDraft: Sendable, Hashable {
  var device: String
  var subscriptions: [ZoneSubscription]
  var wakesForUpdates: Bool
  var app: String
  var installation: String

  /// Replaces empty zones and record names, and drops repetitions.
  init(_ request: SetSubscriptionsRequest, _ violations: inout Violations) {
    device = request.deviceId
    wakesForUpdates = request.wakesForUpdates
    app = request.app
    installation = request.installationId.isEmpty ? request.deviceId : request.installationId
    subscriptions = []
    for (index, subscription) in request.subscriptions.enumerated() {
      var made = subscription
      let path = "subscriptions[\(index)]"
      NameRules.path(subscription.zoneId, "\(path).zoneId", reason: .idInvalid, &violations)
      NameRules.path(subscription.recordType, "\(path).recordType", &violations)
      NameRules.asset(subscription.name, "\(path).name", &violations)
      if made.zoneId.isEmpty { made.zoneId = NameRules.defaultZone }
      made.name = ExportedFiles.fileName(made.name, in: made.zoneId) ?? made.name
      if !subscriptions.contains(made) { subscriptions.append(made) }
    }
  }
}
