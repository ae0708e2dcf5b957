import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Runs the actions of notifications and stores their results.
///
/// A change of the user's own data happens in the transaction that stores the run. A request to another server is
/// stored before it is sent. If the process ends in between, a timer repeats it with the same `Idempotency-Key`.
struct ActionRunner: Sendable {
  let repository: SQLiteNotificationsRepository
  let sender: any HTTPActionSending
  let random: @Sendable () -> UInt64

  /// The time after which an attempt without a stored result is repeated.
  var attemptLostAfterMs: Int64 { sender.durationMsMax + 35_000 }

  /// Throws NOT_FOUND if the notification does not exist or has no such action.
  func invoke(
    _ notificationID: String, actionID: String, user: String, idempotency: IdempotentRequest?
  ) async throws -> ActionRun {
    try await run(user: user, idempotency: idempotency) { transaction in
      let notification = try repository.find(notificationID, user: user, field: "notificationId", transaction).message
      return (notification, actionID, try ActionChoice.action(actionID, of: notification))
    }
  }

  /// Sends the request of a webhook. Throws NOT_FOUND for the webhook, and for the notification if one is named.
  func run(
    webhook id: String, notificationID: String, user: String, idempotency: IdempotentRequest?
  ) async throws -> ActionRun {
    try await run(user: user, idempotency: idempotency) { transaction in
      guard let webhook = try transaction.automation(.webhook, id, user: user, as: Webhook.self) else {
        throw AutomationKind.webhook.notFound(id, field: "webhookId")
      }
      let notification =
        notificationID.isEmpty
        ? Notification()
        : try repository.find(notificationID, user: user, field: "notificationId", transaction).message
      return (notification, "", Action(type: .webhook, value: id, title: webhook.name))
    }
  }

  private typealias Choice = (notification: Notification, actionID: String, action: Action)

  /// Stores and performs a run, or returns that of the request's first attempt.
  private func run(
    user: String, idempotency: IdempotentRequest?, _ choose: @escaping @Sendable (WriteTransaction) throws -> Choice
  ) async throws -> ActionRun {
    let (begun, isNew) = try await repository.write { transaction in
      if let earlier = try repository.storedReply(ActionRun.self, idempotency, transaction) { return (earlier, false) }
      let (notification, actionID, action) = try choose(transaction)
      let (id, nowMs) = repository.ids.next(prefix: SortableID.actionRunPrefix)
      var run = ActionRun(
        id: id, notificationId: notification.id, actionId: actionID, action: action,
        createTime: ProtoTimestamp(millisecondsSince1970: nowMs))
      try begin(&run, action, notification, nowMs: nowMs, user: user, transaction)
      try repository.insert(run, user: user, transaction)
      try repository.storeReply(run, idempotency, transaction)
      return (run, true)
    }
    guard begun.state == .running else { return begun }
    // A repeated request returns the current state of the run and does not send a request itself.
    return isNew ? try await attempt(begun, user: user) : try await repository.run(begun.id, user: user) ?? begun
  }

  /// Postpones the timers of due attempts until these would count as lost. Returns the timers that had not changed.
  func claim(_ due: [NotificationTimer]) async throws -> [NotificationTimer] {
    let dueMs = repository.clockMs() + attemptLostAfterMs
    return try await repository.write { transaction in
      try due.filter { timer in
        guard try transaction.takeTimer(timer) else { return false }
        try repository.setTimer(.actionRetry, timer.subject, user: timer.user, dueMs: dueMs, transaction)
        return true
      }
    }
  }

  /// Performs the next attempt of a run.
  func retry(_ runID: String, user: String) async throws {
    guard let run = try await repository.run(runID, user: user), run.state == .retrying || run.state == .running else {
      return try await repository.write { try repository.clearTimer(.actionRetry, runID, user: user, $0) }
    }
    _ = try await attempt(run, user: user)
  }

  /// Starts a run, and completes it if it does not need another server.
  private func begin(
    _ run: inout ActionRun, _ action: Action, _ notification: Notification, nowMs: Int64, user: String,
    _ transaction: WriteTransaction
  ) throws {
    run.state = .succeeded
    run.attemptCount = 1
    run.finishTime = run.createTime
    let release = ProtoTimestamp(millisecondsSince1970: nowMs + (Int64(action.value) ?? 0) * 60_000)
    switch action.type {
    case .markAsRead: _ = try repository.mark([notification.id], isRead: true, user: user, transaction)
    case .delete: _ = try repository.delete([notification.id], user: user, transaction)
    case .snooze:
      try repository.changeSettings(of: notification.bucketId, field: "notificationId", user: user, transaction) {
        $0.snoozeEndTime = release
      }
    case .postpone:
      _ = try repository.setAside(notification.id, until: release, state: .postponed, user: user, transaction)
    case .navigate: run.url = action.value
    case .openNotification: run.openNotificationId = action.value.isEmpty ? notification.id : action.value
    case .webhook, .backgroundCall:
      run.state = .running
      run.attemptCount = 0
      run.finishTime = nil
      try repository.setTimer(
        .actionRetry, run.id, user: user, dueMs: nowMs + attemptLostAfterMs, transaction)
    case .unspecified, .unrecognized:
      throw RPCError(.failedPrecondition, "the action has an unknown type", .enumUnknown)
    }
  }

  private func attempt(_ begun: ActionRun, user: String) async throws -> ActionRun {
    var run = begun
    let result = await result(of: run, user: user)
    let nowMs = repository.clockMs()
    let isSent = result.reason != .senderBusy
    if isSent { run.attemptCount += 1 }
    run.httpStatus = Int32(clamping: result.status)
    run.reason = result.reason?.rawValue ?? ""
    run.message = result.message
    run.nextAttemptTime = nil
    let nextMs =
      isSent
      ? ActionRetryPolicy.nextAttemptMs(
        after: result, attemptCount: Int(run.attemptCount), nowMs: nowMs, random: random())
      : ActionRetryPolicy.nextAttemptMs(
        afterBusyAtMs: nowMs, createdMs: run.createTime?.millisecondsSince1970 ?? 0, random: random())
    if result.isSuccess {
      run.state = .succeeded
    } else if let nextMs {
      run.state = .retrying
      run.nextAttemptTime = ProtoTimestamp(millisecondsSince1970: nextMs)
    } else {
      run.state = .failed
    }
    if run.state != .retrying { run.finishTime = ProtoTimestamp(millisecondsSince1970: nowMs) }
    let kept = run
    try await repository.write { transaction in
      try repository.update(kept, user: user, transaction)
      if let nextMs {
        try repository.setTimer(.actionRetry, kept.id, user: user, dueMs: nextMs, transaction)
      } else {
        try repository.clearTimer(.actionRetry, kept.id, user: user, transaction)
      }
    }
    return run
  }

  private func result(of run: ActionRun, user: String) async -> HTTPActionResult {
    let action = run.action ?? Action()
    var notification = Notification()
    do {
      notification = try await repository.notification(run.notificationId, user: user)
    } catch {
      // The notification has been deleted: the receiver still gets its id.
      notification.id = run.notificationId
    }
    let request: HTTPActionRequest?
    if action.type == .webhook {
      guard let webhook = try? await repository.webhook(action.value, user: user) else {
        return HTTPActionResult(
          status: 0, reason: .init(rawValue: Reason.webhookNotFound.rawValue), message: "the webhook does not exist",
          isRetryable: false, retryAfterMs: nil)
      }
      request = HTTPActionRequest(webhook: webhook, notification: notification)
    } else {
      request = HTTPActionRequest(backgroundCall: action, notification: notification)
    }
    guard var request else { return .failure(.urlInvalid, "the action has no valid URL") }
    request.idempotencyKey = run.id
    return await sender.send(request, of: user)
  }
}

/// Finds the action of a notification by its id.
enum ActionChoice {
  static func action(_ id: String, of notification: Notification) throws(RPCError) -> Action {
    if let own = own(id, of: notification) { return own }
    var action = Action()
    switch id {
    case "mark_as_read": action.type = .markAsRead
    case "delete": action.type = .delete
    case "open": action.type = .openNotification
    default: throw RPCError.missing("action", id, field: "actionId", .actionNotFound)
    }
    return action
  }

  private static func own(_ id: String, of notification: Notification) -> Action? {
    if id == "tap" { return notification.tapAction }
    guard (1...2).contains(id.utf8.count), id.utf8.allSatisfy(TextRules.isDigit), let index = Int(id),
      notification.actions.indices.contains(index)
    else { return nil }
    return notification.actions[index]
  }
}
