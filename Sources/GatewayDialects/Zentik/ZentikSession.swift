import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import Gateway
import GatewayHTTP

/// Serves one request of the app.
struct ZentikSession: Sendable {
  static let principal = "service/zentik"
  static let idsMax = 1000
  static let magicCodePrefix = "cpk_"

  let identity: InnerCalls.Identity
  /// The request's query; used by lists.
  let query: Substring
  let nowMs: @Sendable () -> Int64

  func answer(
    _ action: ZentikDialect.Action, body: [UInt8], calls: InnerCalls
  ) async throws(RPCError) -> DialectAnswer {
    switch action {
    case .publish: return try await publish(body, calls)
    case .markRead(let ids):
      let request = MarkNotificationsReadRequest(notificationIds: try self.ids(ids, body))
      let response: MarkNotificationsReadResponse = try await call(
        NotificationsServiceMethods.markNotificationsRead, request, calls)
      try Self.requireExisting(ids, missing: response.missingIds)
      return Self.done(response.changedCount)
    case .markUnread(let ids):
      let request = MarkNotificationsUnreadRequest(notificationIds: try self.ids(ids, body))
      let response: MarkNotificationsUnreadResponse = try await call(
        NotificationsServiceMethods.markNotificationsUnread, request, calls)
      try Self.requireExisting(ids, missing: response.missingIds)
      return Self.done(response.changedCount)
    case .delete(let ids):
      let request = BatchDeleteNotificationsRequest(notificationIds: try self.ids(ids, body))
      let response: BatchDeleteNotificationsResponse = try await call(
        NotificationsServiceMethods.batchDeleteNotifications, request, calls)
      return Self.done(response.deletedCount)
    case .postpone: return try await postpone(body, calls)
    case .snooze(let bucket): return try await snooze(bucket, body, calls)
    case .executeWebhook(let id): return try await executeWebhook(id, calls)
    case .share(let action): return try await share(action, body: body, calls)
    case .phone(let action): return try await phone(action, body: body, calls)
    }
  }

  private static func done(_ count: Int32) -> DialectAnswer {
    DialectAnswer(200, .object(["success": .bool(true), "count": .integer(Int64(count))]))
  }

  /// Throws NOT_FOUND if the notification in the path does not exist. A batch skips such notifications.
  private static func requireExisting(_ given: [String]?, missing: [String]) throws(RPCError) {
    guard given != nil, !missing.isEmpty else { return }
    throw RPCError(.notFound, "the notification does not exist", reason: "NOTIFICATION_NOT_FOUND")
  }

  /// Returns the ids in the path, or otherwise those in the body.
  private func ids(_ given: [String]?, _ body: [UInt8]) throws(RPCError) -> [String] {
    if let given { return given }
    let fields = try JSONFields(body)
    return try fields.required("ids", try fields.strings("ids", max: Self.idsMax))
  }

  /// Returns the time after the body's `minutes`.
  private func time(_ fields: JSONFields, minutesMin: Int64) throws(RPCError) -> ProtoTimestamp {
    let minutes = try fields.required("minutes", try fields.integer("minutes"))
    guard (minutesMin...ZentikMessage.minutesMax).contains(minutes) else {
      throw RPCError.invalidField("minutes", "it must be \(minutesMin) to \(ZentikMessage.minutesMax)")
    }
    return ProtoTimestamp(millisecondsSince1970: nowMs() + minutes * 60_000)
  }

  private func postpone(_ body: [UInt8], _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let fields = try JSONFields(body)
    let request = PostponeNotificationRequest(
      notificationId: try fields.required("notificationId", try fields.string("notificationId")),
      releaseTime: try time(fields, minutesMin: 1))
    let response: PostponeNotificationResponse = try await call(
      NotificationsServiceMethods.postponeNotification, request, calls)
    var answer = ZentikEntities.postpone(response.notification ?? Notification())
    answer.set("success", .bool(true))
    answer.set("count", .integer(1))
    return DialectAnswer(200, answer)
  }

  private func snooze(_ bucket: String, _ body: [UInt8], _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let settings = BucketSettings(
      bucketId: bucket, snoozeEndTime: try time(JSONFields(body), minutesMin: 0))
    let request = UpdateBucketSettingsRequest(
      settings: settings, updateMask: ProtoFieldMask(paths: ["snooze_end_time"]))
    let _: UpdateBucketSettingsResponse = try await call(
      NotificationsServiceMethods.updateBucketSettings, request, calls)
    return Self.done(1)
  }

  // MARK: publishing

  /// Throws UNAUTHENTICATED for an unauthenticated message without a magic code, before any other error.
  static func requireMagicCode(_ body: [UInt8]) throws(RPCError) {
    guard let fields = try? JSONFields(body),
      let bucket = try? fields.string("bucketId") ?? fields.string("magicCode"), bucket.hasPrefix(magicCodePrefix)
    else { throw CredentialFault.missing }
  }

  private func publish(_ body: [UInt8], _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    var message = try ZentikMessage(JSONFields(body), nowMs: nowMs())
    if message.bucket.hasPrefix(Self.magicCodePrefix) {
      // The magic code is the credential: its holder may publish with or without a key. The request has counted against
      // its caller's limits.
      let request = PublishWithKeyRequest(secret: message.bucket, notification: message.notification)
      let _: PublishWithKeyResponse = try await calls.unary(
        SharingServiceMethods.publishWithKey, request, as: .trusted(principal: Self.principal, scopes: ""))
    } else {
      message.notification.bucketId = try await bucket(message.bucket, calls)
      let request = CreateNotificationRequest(notification: message.notification)
      let _: CreateNotificationResponse = try await call(NotificationsServiceMethods.createNotification, request, calls)
    }
    return DialectAnswer(
      201,
      .object([
        "message": .string(message.isScheduled ? "Message scheduled" : "Message created"),
        "notificationsCount": .integer(message.isScheduled ? 0 : 1),
      ]))
  }

  /// Returns the id of the bucket with this id or name.
  private func bucket(_ text: String, _ calls: InnerCalls) async throws(RPCError) -> String {
    if text.hasPrefix("b_") { return text }
    var found: [String] = []
    try await forEachBucket(calls) { if $0.name == text { found.append($0.id) } }
    guard let id = found.first else {
      throw RPCError(.notFound, "no bucket has this id or name", reason: "BUCKET_NOT_FOUND")
    }
    guard found.count == 1 else {
      throw RPCError.invalidField("bucketId", "\(found.count) buckets have this name; use the id", reason: "isUnique")
    }
    return id
  }

  /// Calls the closure with each bucket of the caller.
  func forEachBucket(_ calls: InnerCalls, _ body: (Bucket) -> Void) async throws(RPCError) {
    var token = ""
    for _ in 0..<InnerCalls.pagesMax {
      let request = ListBucketsRequest(pageSize: 1000, pageToken: token)
      let page: ListBucketsResponse = try await call(NotificationsServiceMethods.listBuckets, request, calls)
      page.buckets.forEach(body)
      token = page.nextPageToken
      if token.isEmpty { break }
    }
  }

  func call<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, _ calls: InnerCalls
  ) async throws(RPCError) -> R {
    try await calls.unary(method, request, as: identity)
  }
}
