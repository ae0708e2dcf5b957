import CampanileStore

/// Is told of the end of each push, in the transaction that notes it.
protocol PushListener: Sendable {
  /// `reason` is APNs' word or this service's own; empty for an accepted push. What this throws fails the transaction.
  func ended(
    _ push: TakenPush, _ outcome: LedgerOutcome, reason: String, atMs: Int64, in transaction: WriteTransaction) throws
}
