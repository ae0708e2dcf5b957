import APNs
import CampanileStore

/// A token as delivery needs it.
struct DeliveryToken: Sendable, Hashable {
  var token: DeviceToken
  /// When the device last said that it is its token. A rejection before it is about an older registration.
  var registeredAtMs: Int64
}

/// The tokens, which the registry keeps and delivery reads and retires.
protocol PushTokenRegistry: Sendable {
  /// Called first in every write of delivery: puts into the queue what the writes before it in the same commit have kept back.
  func settle(_ transaction: WriteTransaction) throws

  /// The token with this id; nil when there is none, or when it was retired.
  func token(_ id: String, in transaction: ReadTransaction) throws -> DeliveryToken?

  /// Takes a token out of use that APNs does not know any more. `token` is the one that was rejected, `rejectedAtMs` APNs'
  /// time stamp: since when. False, and nothing happens, when the id has another token by now, when it was registered after
  /// that time, or retired before.
  func retire(
    _ id: String, token: DeviceToken?, reason: APNsReason, rejectedAtMs: Int64?, in transaction: WriteTransaction
  ) throws -> Bool
}
