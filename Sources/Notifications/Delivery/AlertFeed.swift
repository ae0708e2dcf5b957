import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Requests a push for every notification that is handed over to devices.
///
/// Follows the change log from a durable cursor, so nothing is missed while either side is down. Delivery to Activities
/// is at least once; Activities deduplicates by alert id. An alert that Activities rejects permanently is recorded in
/// the delivery log and does not block later ones.
struct AlertFeed: Sendable {
  static let name = "activities"
  static let batchMax = 256
  /// Maximum number of concurrent requests to Activities.
  static let inFlightMax = 32

  private let feed: ChangeFeed
  private let repository: SQLiteNotificationsRepository
  private let pusher: any DevicePushing
  private let signal: WakeSignal
  private let tracer: Tracer?
  private let category: String
  /// The key from which the keys of receipts are derived.
  private let receiptSecret: [UInt8]

  /// A request to Activities and the trace that it continues.
  private struct Alert {
    var request: SendAlertRequest
    var trace: String?
  }

  /// Creates a feed that resumes from its stored cursor.
  ///
  /// - Parameters:
  ///   - signal: Signalled after every commit.
  ///   - category: The category of all pushes.
  init(
    _ repository: SQLiteNotificationsRepository, _ pusher: any DevicePushing, signal: WakeSignal, category: String,
    receiptSecret: [UInt8], tracer: Tracer? = nil
  ) async throws {
    feed = try await ChangeFeed(Self.name, store: repository.store)
    self.repository = repository
    self.pusher = pusher
    self.signal = signal
    self.tracer = tracer
    self.category = category
    self.receiptSecret = receiptSecret
  }

  /// Follows the log until the task is cancelled.
  func run(log: @Sendable (String) -> Void) async {
    await FeedLoop.run(signal: signal, log: { log("pushing alerts \($0)") }) { try await step() }
  }

  /// Processes the next batch of changes. Returns the number of changes read, 1 after skipping a truncated log, or 0 if
  /// there are none.
  func step() async throws -> Int {
    let entries: [ChangeFeed.Entry]
    do {
      entries = try await feed.next(rowsMax: Self.batchMax)
    } catch let error as RPCError where error.reason == Reason.tokenTooOld.rawValue {
      // The cursor is older than the retained log: these alerts are too old to deliver, so skip to the end.
      try await feed.acknowledge(through: try feed.lastSequence())
      return 1
    }
    guard let last = entries.last else { return 0 }
    // Only the latest hand-over of each notification is sent.
    var alerts: [Alert] = []
    var seen: Set<String> = []
    for entry in entries where entry.change.isAlert {
      guard let request = try await request(entry), seen.insert("\(entry.user) \(request.alertId)").inserted else {
        continue
      }
      alerts.append(Alert(request: request, trace: entry.trace))
    }
    try await send(alerts)
    try await feed.acknowledge(through: last.change.sequence)
    return entries.count
  }

  private func request(_ entry: ChangeFeed.Entry) async throws -> SendAlertRequest? {
    guard let notification = entry.change.notification else { return nil }
    let counts = try await repository.unreadCounts(user: entry.user)
    let bucket = try? await repository.bucket(notification.bucketId, user: entry.user)
    var request = AlertRules.request(
      notification, user: entry.user, bucket: bucket, unreadCount: Int64(counts.total), category: category,
      nowMs: repository.clockMs())
    if let alertID = request?.alertId {
      request?.receiptKey =
        PushReceipt.alertKey(userID: entry.user, alertID: alertID, secret: receiptSecret) ?? []
    }
    return request
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
    // Record outcomes even if the batch will be repeated: a repetition no longer reports that no device was reached.
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

  /// Sends one alert. Returns a delivery record if no device was reached or the alert was rejected; otherwise
  /// Activities reports the result.
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
    var delivery = NotificationDelivery(userId: request.userId, notificationId: request.notificationId)
    let record = DeliveryRecord(
      eventTime: ProtoTimestamp(millisecondsSince1970: repository.clockMs()), outcome: outcome, reason: reason)
    delivery.record = record
    return delivery
  }
}
