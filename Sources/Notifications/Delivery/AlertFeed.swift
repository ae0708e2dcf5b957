import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Has every notification that is handed over pushed to its user's devices: at least once asked for, and once pushed, since
/// the pushing service knows each hand-over by its name.
///
/// Follows the change log from a cursor that is kept beside it, so that nothing is missed while either side is away. One
/// that the pushing service refuses for good is told in the ledger and does not hold up the rest.
struct AlertFeed: Sendable {
  static let name = "activities"
  static let batchMax = 256
  /// Alerts on their way at the same time.
  static let inFlightMax = 32

  private let feed: ChangeFeed
  private let repository: SQLiteNotificationsRepository
  private let pusher: any DevicePushing
  private let bell: WatchBell
  private let tracer: Tracer?

  /// One alert on its way, with the trace that it continues.
  private struct Alert {
    var request: SendAlertRequest
    var trace: String?
  }

  /// `bell` is rung by every commit.
  init(
    _ repository: SQLiteNotificationsRepository, _ pusher: any DevicePushing, bell: WatchBell, tracer: Tracer? = nil
  ) async throws {
    feed = try await ChangeFeed(Self.name, store: repository.store)
    self.repository = repository
    self.pusher = pusher
    self.bell = bell
    self.tracer = tracer
  }

  /// Runs until the task is cancelled.
  func run(log: @Sendable (String) -> Void) async {
    await FeedLoop.run(bell: bell, log: { log("pushing alerts \($0)") }) { try await step() }
  }

  /// Takes the next changes and returns how many there were.
  func step() async throws -> Int {
    let entries: [ChangeFeed.Entry]
    do {
      entries = try feed.next(rowsMax: Self.batchMax)
    } catch let error as RPCError where error.reason == Reason.tokenTooOld.rawValue {
      // Older than what is kept: too late to alert anybody.
      try await feed.acknowledge(through: try feed.lastSequence())
      return 1
    }
    guard let last = entries.last else { return 0 }
    // Of several hand-overs of one notification the latest is told.
    var alerts: [Alert] = []
    var seen: Set<String> = []
    for entry in entries where entry.change.isAlert {
      guard let request = try request(entry), seen.insert("\(entry.user) \(request.alertId)").inserted else { continue }
      alerts.append(Alert(request: request, trace: entry.trace))
    }
    try await send(alerts)
    try await feed.acknowledge(through: last.change.sequence)
    return entries.count
  }

  private func request(_ entry: ChangeFeed.Entry) throws -> SendAlertRequest? {
    guard let notification = entry.change.notification else { return nil }
    let counts = try repository.unreadCounts(user: entry.user)
    let bucketName = try? repository.bucket(notification.bucketId, user: entry.user).name
    return AlertRules.request(
      notification, user: entry.user, bucketName: bucketName, unreadCount: Int64(counts.total),
      nowMs: repository.clockMs())
  }

  private func send(_ alerts: [Alert]) async throws {
    var records: [NotificationDelivery] = []
    var failure: (any Error)?
    await withTaskGroup(of: Result<NotificationDelivery?, any Error>.self) { group in
      var next = alerts.makeIterator()
      for _ in 0..<Self.inFlightMax {
        guard let alert = next.next() else { break }
        group.addTask { await send(alert) }
      }
      while let result = await group.next() {
        switch result {
        case .success(let record): if let record { records.append(record) }
        case .failure(let error): failure = failure ?? error
        }
        if failure == nil, let alert = next.next() { group.addTask { await send(alert) } }
      }
    }
    // Also of a batch that will be sent again: a repeat does not say any more that it reached nobody.
    if !records.isEmpty { _ = try await repository.record(records) }
    if let failure { throw failure }
  }

  private func send(_ alert: Alert) async -> Result<NotificationDelivery?, any Error> {
    guard let span = tracer?.span("alert", .consumer, after: alert.trace) else { return await send(alert.request) }
    return await CallScope.$current.withValue(CallScope(span: span)) {
      let result = await send(alert.request)
      if case .failure(let error) = result { span.end(failure: String(describing: error)) } else { span.end() }
      return result
    }
  }

  /// A record for the ledger when no device is reached; what becomes of a push is told by the pushing service.
  private func send(_ request: SendAlertRequest) async -> Result<NotificationDelivery?, any Error> {
    do {
      let response = try await pusher.send(request)
      return .success(response.apnsIds.isEmpty && !response.repeatedAlert ? record(request, .noToken, "") : nil)
    } catch let refusal as RPCError where refusal.code == .invalidArgument {
      return .success(record(request, .rejected, refusal.reason))
    } catch {
      return .failure(error)
    }
  }

  private func record(_ request: SendAlertRequest, _ outcome: DeliveryOutcome, _ reason: String) -> NotificationDelivery
  {
    var delivery = NotificationDelivery()
    delivery.userId = request.userId
    delivery.notificationId = request.notificationId
    var record = DeliveryRecord()
    record.time = ProtoTimestamp(millisecondsSince1970: repository.clockMs())
    record.outcome = outcome
    record.reason = reason
    delivery.record = record
    return delivery
  }
}
