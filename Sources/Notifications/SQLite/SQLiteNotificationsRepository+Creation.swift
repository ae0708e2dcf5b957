import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteNotificationsRepository {
  func createNotification(
    _ draft: NotificationDraft, user: String, idempotency: IdempotentRequest?
  ) async throws -> Notification {
    try await writeWithoutFlush { transaction in
      if let notification = try storedReply(Notification.self, idempotency, transaction) { return notification }
      let notification = try createCoalesced(draft, user: user, transaction)
      try storeReply(notification, idempotency, transaction)
      return notification
    }
  }

  /// Leaves the counts to the end of the commit, unless this write has a savepoint and may be rolled back alone.
  private func createCoalesced(
    _ draft: NotificationDraft, user: String, _ transaction: WriteTransaction
  ) throws -> Notification {
    guard transaction.usesSavepoint else {
      return try notifier.withPublishingContext(nowMs: clockMs(), limits: limits) { context in
        try create(draft, user: user, in: &context, transaction)
      }
    }
    var context = PublishingContext(nowMs: clockMs(), limits: limits)
    let notification = try create(draft, user: user, in: &context, transaction)
    try context.finish(transaction)
    return notification
  }

  func createNotifications(
    _ entries: [NewNotification], user: String
  ) async throws -> [Result<Notification, RPCError>] {
    try await write { transaction in
      var context = PublishingContext(nowMs: clockMs(), limits: limits)
      var results: [Result<Notification, RPCError>] = []
      results.reserveCapacity(entries.count)
      for entry in entries { results.append(try create(entry, user: user, in: &context, transaction)) }
      try context.finish(transaction)
      return results
    }
  }

  /// Creates one entry of a batch. Throws only errors that concern the whole batch. An entry is rejected before it
  /// changes anything, so it does not need a savepoint.
  private func create(
    _ entry: NewNotification, user: String, in context: inout PublishingContext, _ transaction: WriteTransaction
  ) throws -> Result<Notification, RPCError> {
    let draft: NotificationDraft
    switch entry.draft {
    case .success(let valid): draft = valid
    case .failure(let error): return .failure(error)
    }
    do {
      if let earlier = try storedReply(Notification.self, entry.idempotency, transaction) { return .success(earlier) }
      let notification = try create(draft, user: user, in: &context, transaction)
      try storeReply(notification, entry.idempotency, transaction)
      return .success(notification)
    } catch let failure as StoreError where failure.code == .requestIDReused {
      return .failure(RPCError(failure, at: entry.path))
    } catch let refusal as RPCError {
      return .failure(refusal.inside(entry.path))
    }
  }

  /// Publishes or schedules a notification.
  private func create(
    _ draft: NotificationDraft, user: String, in context: inout PublishingContext, _ transaction: WriteTransaction
  ) throws -> Notification {
    guard let deliverMs = draft.notification.deliverTime?.millisecondsSince1970, deliverMs > context.nowMs else {
      return try publish(draft, by: user, in: &context, transaction)
    }
    return try schedule(draft, atMs: deliverMs, user: user, in: &context, transaction)
  }
}
