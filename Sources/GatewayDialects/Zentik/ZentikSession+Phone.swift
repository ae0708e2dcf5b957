import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import GatewayHTTP

// The phone's lists, receipts and postponements.
extension ZentikSession {
  /// The maximum number of notifications in a list. A page of the service may end earlier, at 2 MiB.
  static let listMax: Int32 = 1000
  /// The maximum number of notifications that one report marks as received: those of one call to the service.
  static let receivedMax = 100

  func phone(_ action: ZentikPhone.Action, body: [UInt8], _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    switch action {
    case .list: return try await list(calls)
    case .get(let id): return try await get(id, calls)
    case .markAllRead: return try await markAllRead(calls)
    case .received(let id): return try await received(id, JSONFields(body), calls)
    case .receivedThrough: return try await receivedThrough(JSONFields(body), calls)
    case .listPostponed: return try await listPostponed(calls)
    case .cancelPostponed(let id):
      let request = CancelPostponementRequest(notificationId: id)
      let _: CancelPostponementResponse = try await call(
        NotificationsServiceMethods.cancelPostponement, request, calls)
      return DialectAnswer(200, .object(["success": .bool(true)]))
    }
  }

  private func list(_ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let request = ListNotificationsRequest(pageSize: Self.listMax)
    let page: ListNotificationsResponse = try await call(NotificationsServiceMethods.listNotifications, request, calls)
    let buckets = try await buckets(calls)
    let entities = page.notifications.map { ZentikEntities.notification($0, of: buckets[$0.bucketId]) }
    return DialectAnswer(200, .array(entities))
  }

  private func get(_ id: String, _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let notification = try await notification(id, calls)
    return DialectAnswer(
      200, ZentikEntities.notification(notification, of: try await bucket(of: notification, calls)))
  }

  /// Marks what is there now; what arrives meanwhile stays unread.
  private func markAllRead(_ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let newest: ListNotificationsResponse = try await call(
      NotificationsServiceMethods.listNotifications, ListNotificationsRequest(pageSize: 1), calls)
    var count: Int32 = 0
    if let last = newest.notifications.first {
      let request = MarkAllNotificationsReadRequest(throughNotificationId: last.id)
      let response: MarkAllNotificationsReadResponse = try await call(
        NotificationsServiceMethods.markAllNotificationsRead, request, calls)
      count = response.changedCount
    }
    return DialectAnswer(200, .object(["updatedCount": .integer(Int64(count))]))
  }

  // MARK: receipts

  private func received(
    _ id: String, _ fields: JSONFields, _ calls: InnerCalls
  ) async throws(RPCError) -> DialectAnswer {
    let device = try device(fields)
    let notification = try await notification(id, calls)
    _ = try await report([notification.id], by: device, calls)
    let now = ProtoTimestamp(millisecondsSince1970: nowMs())
    return DialectAnswer(
      200,
      ZentikEntities.notification(
        notification, of: try await bucket(of: notification, calls), receivedTime: now))
  }

  /// Reports the newest notifications up to the named one as received by the device.
  private func receivedThrough(_ fields: JSONFields, _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let id = try fields.required("id", try fields.string("id"))
    let device = try device(fields)
    let last = try await notification(id, calls)
    let end = ProtoTimestamp(millisecondsSince1970: (last.createTime?.millisecondsSince1970 ?? 0) + 1)
    let request = ListNotificationsRequest(pageSize: Int32(Self.receivedMax), endTime: end)
    let page: ListNotificationsResponse = try await call(NotificationsServiceMethods.listNotifications, request, calls)
    // Others of the same millisecond may have a later id.
    let ids = page.notifications.map(\.id).filter { $0 <= id }
    return DialectAnswer(
      200, .object(["updatedCount": .integer(Int64(try await report(ids.isEmpty ? [id] : ids, by: device, calls)))]))
  }

  /// Records that a device has received notifications. Returns the number of new receipts.
  private func report(
    _ ids: [String], by device: String, _ calls: InnerCalls
  ) async throws(RPCError) -> Int {
    let request = BatchRecordEngagementRequest(
      reports: ids.map { EngagementReport(notificationId: $0, deviceId: device, kind: .received) })
    let response: BatchRecordEngagementResponse = try await call(
      EngagementServiceMethods.batchRecordEngagement, request, calls)
    return response.results.filter { result in
      if case .engagement(let recorded)? = result.outcome { recorded.isNew } else { false }
    }.count
  }

  /// Returns an id for the device whose token the body has. The token itself is a secret and is not stored.
  private func device(_ fields: JSONFields) throws(RPCError) -> String {
    let token = try fields.string("deviceToken") ?? ""
    guard !token.isEmpty else {
      throw RPCError.invalidField("deviceToken", "deviceToken should not be empty", reason: "isNotEmpty")
    }
    guard token.utf8.count <= 4_096 else {
      throw RPCError.invalidField("deviceToken", "it must have at most 4096 bytes", reason: "maxLength")
    }
    do throws(CryptoError) {
      return "token:\(try SHA256.digest(Array(token.utf8)).hexadecimal.prefix(32))"
    } catch {
      throw RPCError(.internalError, "the device token cannot be hashed")
    }
  }

  // MARK: postponements

  private func listPostponed(_ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let request = ListPostponedNotificationsRequest(pageSize: Self.listMax)
    let page: ListPostponedNotificationsResponse = try await call(
      NotificationsServiceMethods.listPostponedNotifications, request, calls)
    let buckets = try await buckets(calls)
    let sorted = page.notifications.sorted {
      ($0.releaseTime?.millisecondsSince1970 ?? 0, $0.id) < ($1.releaseTime?.millisecondsSince1970 ?? 0, $1.id)
    }
    let entities = sorted.map { notification in
      var entity = ZentikEntities.postpone(notification)
      entity.set("notification", ZentikEntities.notification(notification, of: buckets[notification.bucketId]))
      return entity
    }
    return DialectAnswer(200, .array(entities))
  }

  // MARK: parts

  private func notification(_ id: String, _ calls: InnerCalls) async throws(RPCError) -> Notification {
    let response: GetNotificationResponse = try await call(
      NotificationsServiceMethods.getNotification, GetNotificationRequest(notificationId: id), calls)
    return response.notification ?? Notification()
  }

  private func bucket(of notification: Notification, _ calls: InnerCalls) async throws(RPCError) -> Bucket? {
    let response: GetBucketResponse = try await call(
      NotificationsServiceMethods.getBucket, GetBucketRequest(bucketId: notification.bucketId), calls)
    return response.bucket
  }

  /// Returns the caller's buckets by their ids.
  private func buckets(_ calls: InnerCalls) async throws(RPCError) -> [String: Bucket] {
    var found: [String: Bucket] = [:]
    try await forEachBucket(calls) { found[$0.id] = $0 }
    return found
  }
}
