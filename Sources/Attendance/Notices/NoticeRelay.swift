import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Sends the notices of the outbox to the notifications service, in order for each user, until it has accepted them.
///
/// Delivery is at least once; the service recognizes a repeated notice by its request id.
struct NoticeRelay: Sendable {
  /// The time after which a notice that could not be delivered is dropped.
  static let ageMaxMs: Int64 = 7 * 24 * 3_600 * 1_000

  private let relay: OutboxRelay

  init(repository: SQLiteAttendanceRepository, sender: any NoticeSending, environment: RelayEnvironment) {
    var limits = OutboxRelay.Limits()
    // The other service may be down for long. `ageMaxMs` limits the attempts.
    limits.attemptsMax = .max
    limits.backoff.delayMax = .seconds(30)
    relay = OutboxRelay(store: repository.store, limits: limits, environment: environment) { message in
      guard message.topic == NoticeSchedule.topic else { return .reject(reason: "unknown topic") }
      return try await Delivery(repository: repository, sender: sender, message: message, nowMs: environment.nowMs())
        .run()
    }
  }

  /// Runs until the task is cancelled.
  func run() async { await relay.run() }

  func wake() { relay.wake() }

  func deliverDue() async throws -> OutboxRelay.Round { try await relay.deliverDue() }
}

/// One attempt to deliver one notice.
private struct Delivery {
  let repository: SQLiteAttendanceRepository
  let sender: any NoticeSending
  let message: OutboxMessage
  let nowMs: Int64

  private var user: String { message.key }

  func run() async throws -> OutboxDelivery {
    var request = try StoredJSON.message(CreateNotificationRequest.self, message.payload, "a notice")
    guard nowMs < deadlineMs(request) else { return .delivered }
    do {
      request.notification?.bucketId = try await bucket()
      do {
        try await sender.create(request, user: user)
      } catch let error as RPCError where error.code == .notFound {
        // The user has deleted the bucket.
        request.notification?.bucketId = try await newBucket()
        try await sender.create(request, user: user)
      }
      return .delivered
    } catch let refusal as RPCError where refusal.code == .invalidArgument || refusal.code == .permissionDenied {
      return .reject(reason: refusal.message)
    }
  }

  /// A notice about a meeting is useless after its start.
  private func deadlineMs(_ request: CreateNotificationRequest) -> Int64 {
    let oldestMs = message.createdAtMs + NoticeRelay.ageMaxMs
    guard let expireTime = request.notification?.expireTime else { return oldestMs }
    return min(oldestMs, expireTime.millisecondsSince1970 - NoticeSchedule.readableMs)
  }

  private func bucket() async throws -> String {
    let known = try await repository.readSingle { transaction in
      try transaction.queryOne(NoticeTable.bucketSQL, [.text(user)]) { try $0.text(0) }
    }
    if let known { return known }
    return try await newBucket()
  }

  private func newBucket() async throws -> String {
    let isItalian = try await repository.lodgeSettings().language == .italian
    // A repeated attempt for the same message returns the same bucket.
    let request = CreateBucketRequest(
      bucket: Bucket(name: isItalian ? "Loggia" : "Lodge"), requestId: "attendance.\(message.id)")
    let id = try await sender.create(request, user: user)
    let user = self.user
    try await repository.storeWrite { transaction in
      _ = try transaction.executeCounting(NoticeTable.putBucketSQL, [.text(user), .text(id)])
    }
    return id
  }
}
