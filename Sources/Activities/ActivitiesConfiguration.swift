public import CampanileBase
import CampanileRPC
public import CampanileService
public import CampanileStore

/// The configuration that an operator sets.
public struct ActivitiesConfiguration: Sendable {
  public var store: StoreConfiguration
  public var limits = ActivitiesLimits()
  public var retention = ChangeRetention()
  /// Date formats, by app, in the states that this service creates. Other apps use `ContentDates.foundation`.
  public var contentDates: [String: ContentDates] = [:]
  /// The apps with Apple's entitlement for critical alerts (`com.apple.developer.usernotifications.critical-alerts`).
  /// Other apps' devices get time-sensitive ones.
  public var criticalAlertApps: Set<String> = []
  var delivery: PushDelivery.Configuration

  /// Creates a configuration.
  ///
  /// - Parameter addedKeysDirectory: Directory for signing keys that are added by RPC.
  public init(store: StoreConfiguration, addedKeysDirectory: String) {
    self.store = store
    delivery = .init(addedKeysDirectory: addedKeysDirectory)
  }

  /// Replaces Apple's hosts by `ENVIRONMENT=HOST:PORT` entries.
  ///
  /// - Throws: INVALID_ARGUMENT if an entry has another form.
  public mutating func setEndpoints(_ entries: [String]) throws(RPCError) {
    for entry in entries { try delivery.endpoints.set(entry) }
  }

  /// PEM file of the certificates to trust for APNs; nil for the system's.
  public var trustFile: String? {
    get { delivery.sender.trustFile }
    set { delivery.sender.trustFile = newValue }
  }

  /// Directory of the operator's signing keys.
  public var signingKeysDirectory: String? {
    get { delivery.keysDirectory }
    set { delivery.keysDirectory = newValue }
  }

  /// Team id for keys without a description file.
  public var teamID: String? {
    get { delivery.teamID }
    set { delivery.teamID = newValue }
  }

  /// Minimum time between two updates of an activity on one device; updates in between are coalesced.
  public var updateSpacingMs: Int64 {
    get { delivery.limits.updateSpacingMs }
    set { delivery.limits.updateSpacingMs = newValue }
  }
}
