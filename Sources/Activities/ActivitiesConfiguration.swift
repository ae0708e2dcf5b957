public import CampanileRPC
public import CampanileService
public import CampanileStore

/// What an operator sets.
public struct ActivitiesConfiguration: Sendable {
  public var store: StoreConfiguration
  public var limits = ActivitiesLimits()
  public var retention = ChangeRetention()
  /// How apps write dates in the states that this service makes; others as `ContentDates.foundation`.
  public var contentDates: [String: ContentDates] = [:]
  var delivery: PushDelivery.Configuration

  /// `addedKeysDirectory` keeps the signing keys that are added by call.
  public init(store: StoreConfiguration, addedKeysDirectory: String) {
    self.store = store
    delivery = .init(addedKeysDirectory: addedKeysDirectory)
  }

  /// Other hosts than Apple's, `ENVIRONMENT=HOST:PORT` each. Throws INVALID_ARGUMENT for a text of another form.
  public mutating func setEndpoints(_ entries: [String]) throws(RPCError) {
    for entry in entries { try delivery.endpoints.set(entry) }
  }

  /// The PEM file of certificates that APNs' server is trusted by; nil: the system's.
  public var trustFile: String? {
    get { delivery.sender.trustFile }
    set { delivery.sender.trustFile = newValue }
  }

  /// Where the operator's signing keys are.
  public var signingKeysDirectory: String? {
    get { delivery.keysDirectory }
    set { delivery.keysDirectory = newValue }
  }

  /// The team of keys without a description.
  public var teamID: String? {
    get { delivery.teamID }
    set { delivery.teamID = newValue }
  }

  /// Least time between two updates of an activity on one device; what comes between is coalesced.
  public var updateSpacingMs: Int64 {
    get { delivery.limits.updateSpacingMs }
    set { delivery.limits.updateSpacingMs = newValue }
  }
}
