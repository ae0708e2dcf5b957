import APNs
import CampanileStore

/// A device token for delivery.
struct DeliveryToken: Sendable, Hashable {
  var token: DeviceToken
  /// Time of the device's last registration. A rejection with an earlier `timestamp` refers to an older registration
  /// ("Handling notification responses from APNs").
  var registeredAtMs: Int64
  /// Whether the user allows frequent updates, which have a larger budget.
  var hasFrequentPushes = false
}

/// The store of push tokens, in which delivery reads and retires tokens.
protocol PushTokenRegistry: Sendable {
  /// Queues the pushes that earlier writes of the same commit deferred. Called first in every write of delivery.
  func settle(_ transaction: WriteTransaction) throws

  /// Returns the token with this id, or nil if it does not exist or was retired.
  func token(_ id: String, in transaction: ReadTransaction) throws -> DeliveryToken?

  /// Retires a token that APNs no longer accepts.
  ///
  /// - Parameters:
  ///   - token: The rejected token.
  ///   - rejectedAtMs: APNs' timestamp, from which the token is invalid.
  /// - Returns: False, without a change, if the id has another token now, was registered after `rejectedAtMs`, or was
  ///   already retired.
  func retire(
    _ id: String, token: DeviceToken?, reason: APNsReason, rejectedAtMs: Int64?, in transaction: WriteTransaction
  ) throws -> Bool
}
