import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteNotificationsRepository {
  func createNotification(
    _ draft: NotificationDraft, user: String, repeatable: RepeatableRequest?
  ) async throws -> Notification {
    try await writeBesidePublications { transaction in
      if let notification = try replayed(Notification.self, repeatable, transaction) { return notification }
      let notification = try createBesideOthers(draft, user: user, transaction)
      try keep(notification, repeatable, transaction)
      return notification
    }
  }

  /// Leaves the counts to the end of the commit, unless it may be undone alone.
  private func createBesideOthers(
    _ draft: NotificationDraft, user: String, _ transaction: WriteTransaction
  ) throws -> Notification {
    guard transaction.isUndoneAlone else {
      return try board.publish(nowMs: clockMs(), limits: limits) { context in
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

  /// Throws only for failures that concern the whole batch. What refuses one entry is found out before it changes anything,
  /// so that it needs no savepoint.
  private func create(
    _ entry: NewNotification, user: String, in context: inout PublishingContext, _ transaction: WriteTransaction
  ) throws -> Result<Notification, RPCError> {
    let draft: NotificationDraft
    switch entry.draft {
    case .success(let valid): draft = valid
    case .failure(let error): return .failure(error)
    }
    do {
      if let earlier = try replayed(Notification.self, entry.repeatable, transaction) { return .success(earlier) }
      let notification = try create(draft, user: user, in: &context, transaction)
      try keep(notification, entry.repeatable, transaction)
      return .success(notification)
    } catch let failure as StoreError where failure.code == .requestIDReused {
      return .failure(RPCError(failure, at: entry.path))
    } catch let refusal as RPCError {
      return .failure(refusal.inside(entry.path))
    }
  }

  /// Publishes at once, or schedules.
  private func create(
    _ draft: NotificationDraft, user: String, in context: inout PublishingContext, _ transaction: WriteTransaction
  ) throws -> Notification {
    guard let deliverMs = draft.notification.deliverTime?.millisecondsSince1970, deliverMs > context.nowMs else {
      return try publish(draft, by: user, in: &context, transaction)
    }
    return try schedule(draft, atMs: deliverMs, user: user, in: &context, transaction)
  }
}
