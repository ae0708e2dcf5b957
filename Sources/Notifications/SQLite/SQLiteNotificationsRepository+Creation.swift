import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteNotificationsRepository {
  func reply<M: ProtoMessage>(_ type: M.Type, to request: IdempotentRequest?) async throws -> M? {
    guard let request else { return nil }
    return try await storeWrite { try reply(type, to: request, $0) }
  }

  private func reply<M: ProtoMessage>(
    _ type: M.Type, to request: IdempotentRequest?, _ transaction: WriteTransaction
  ) throws -> M? {
    do {
      return try storedReply(type, request, transaction)
    } catch let failure as StoreError where failure.code == .requestIDReused {
      return nil
    }
  }

  func createNotification(
    _ draft: NotificationDraft, user: String, idempotency: IdempotentRequest?
  ) async throws -> Notification {
    try await storeWrite(ahead: ahead(draft, user: user, idempotency)) { transaction in
      if let notification = try storedReply(Notification.self, idempotency, transaction) { return notification }
      // A write with a savepoint may be rolled back alone. Any other leaves its counts to the end of the commit.
      let isShared = !transaction.usesSavepoint
      let nowMs = clockMs()
      var context = (isShared ? notifier.takeContext() : nil) ?? PublishingContext(nowMs: nowMs, limits: limits)
      context.renew(nowMs: nowMs, limits: limits)
      // A failure before any change has added nothing to the context. A later one restarts the transaction, which
      // discards the context.
      defer { if isShared { notifier.share(context) } }
      let notification = try create(draft, by: user, in: &context, transaction)
      if !isShared { try context.finish(transaction) }
      try storeReply(notification, idempotency, transaction)
      return notification
    }
  }

  /// The publications of a commit share what the first of them has read, so that none needs another one's queries.
  private func ahead(_ draft: NotificationDraft, user: String, _ idempotency: IdempotentRequest?) -> ReadAhead {
    let queries = [
      idempotency?.key.query, BucketState.query(draft.notification.bucketId, of: user),
      SQLQuery(ChangeLogTable.endSQL),
    ]
    return ReadAhead(subject: nil, queries.compactMap { $0 }) { [notifier] in notifier.knows($0) }
  }

  func createNotifications(
    _ entries: [NewNotification], user: String
  ) async throws -> [Result<Notification, RPCError>] {
    try await write { transaction in
      var context = PublishingContext(nowMs: clockMs(), limits: limits)
      var results: [Result<Notification, RPCError>] = []
      results.reserveCapacity(entries.count)
      for entry in entries { results.append(try result(of: entry, user: user, in: &context, transaction)) }
      try context.finish(transaction)
      return results
    }
  }

  /// Creates one entry of a batch. Throws only errors that concern the whole batch. An entry is rejected before it
  /// changes anything, so it does not need a savepoint.
  private func result(
    of entry: NewNotification, user: String, in context: inout PublishingContext, _ transaction: WriteTransaction
  ) throws -> Result<Notification, RPCError> {
    let draft: NotificationDraft
    switch entry.draft {
    case .success(let valid): draft = valid
    case .failure(let error):
      let earlier = try reply(Notification.self, to: entry.idempotency, transaction)
      return earlier.map { .success($0) } ?? .failure(error)
    }
    do {
      if let earlier = try storedReply(Notification.self, entry.idempotency, transaction) { return .success(earlier) }
      let notification = try create(draft, by: user, in: &context, transaction)
      try storeReply(notification, entry.idempotency, transaction)
      return .success(notification)
    } catch let failure as StoreError where failure.code == .requestIDReused {
      return .failure(RPCError(failure, at: entry.path))
    } catch let refusal as RPCError {
      return .failure(refusal.inside(entry.path))
    }
  }
}
