import CampanileStore

/// Observes the end of each push, in the transaction that records it.
protocol PushListener: Sendable {
  /// Handles the end of a push. An error fails the transaction.
  ///
  /// - Parameter reason: A reason of APNs or of this service; empty for an accepted push.
  func ended(
    _ push: ClaimedPush, _ outcome: DeliveryLogOutcome, reason: String, atMs: Int64, in transaction: WriteTransaction)
    throws
}
