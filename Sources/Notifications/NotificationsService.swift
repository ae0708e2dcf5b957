import CampanileCodec
import CampanileCrypto
public import CampanileAPI
public import CampanileRPC

/// Serves `campanile.notifications.v1.NotificationsService`: checks a request by the pure rules, then has the repository do it.
public struct NotificationsService: NotificationsServiceProtocol {
  let repository: any NotificationsRepository
  let hub: WatchHub

  // MARK: buckets

  public func createBucket(_ request: CreateBucketRequest, context: CallContext) async throws -> CreateBucketResponse {
    let user = try context.requireUser()
    var violations = Violations()
    let draft = request.bucket ?? Bucket()
    NotificationRules.check(draft, at: "bucket", into: &violations)
    NotificationRules.checkRequestID(request.requestId, at: "request_id", into: &violations)
    try violations.check()
    var unkeyed = request
    unkeyed.requestId = ""
    var response = CreateBucketResponse()
    response.bucket = try await repository.createBucket(
      draft, user: user, request: try Self.key("CreateBucket", request.requestId, unkeyed))
    return response
  }

  public func getBucket(_ request: GetBucketRequest, context: CallContext) async throws -> GetBucketResponse {
    let user = try context.requireUser()
    guard let bucket = try repository.bucket(request.bucketId, user: user) else {
      throw SQLiteNotificationsRepository.notFound("bucket", request.bucketId, field: "bucket_id")
    }
    var response = GetBucketResponse()
    response.bucket = bucket
    return response
  }

  public func listBuckets(_ request: ListBucketsRequest, context: CallContext) async throws -> ListBucketsResponse {
    let user = try context.requireUser()
    var violations = Violations()
    let size = NotificationRules.pageSize(request.pageSize, into: &violations)
    try violations.check()
    let filter = PageToken.filter("buckets", user)
    let after = try PageToken.read(request.pageToken, filter: filter).map { text in
      // The id has no dot, a name may.
      let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
      return (name: String(parts.last ?? ""), id: String(parts.first ?? ""))
    }
    let found = try repository.buckets(user: user, after: after, limit: size + 1)
    var response = ListBucketsResponse()
    response.buckets = Array(found.prefix(size))
    if found.count > size, let last = response.buckets.last {
      response.nextPageToken = PageToken(filter: filter, after: "\(last.id).\(last.name)").text
    }
    return response
  }

  public func updateBucket(_ request: UpdateBucketRequest, context: CallContext) async throws -> UpdateBucketResponse {
    let user = try context.requireUser()
    var violations = Violations()
    let change = request.bucket ?? Bucket()
    let fields = UpdateMasks.fields(
      request.updateMask, known: UpdateMasks.bucketFields, populated: UpdateMasks.populated(change), into: &violations)
    var checked = Bucket()
    checked.name = "unchanged"
    UpdateMasks.apply(change, to: &checked, fields)
    NotificationRules.check(checked, at: "bucket", into: &violations)
    try violations.check()
    var response = UpdateBucketResponse()
    response.bucket = try await repository.updateBucket(change, fields: fields, user: user)
    return response
  }

  public func deleteBucket(_ request: DeleteBucketRequest, context: CallContext) async throws -> DeleteBucketResponse {
    let user = try context.requireUser()
    var response = DeleteBucketResponse()
    response.deletedNotificationCount = Int32(
      clamping: try await repository.deleteBucket(request.bucketId, etag: request.etag, user: user))
    return response
  }

  // MARK: notifications

  public func createNotification(
    _ request: CreateNotificationRequest, context: CallContext
  ) async throws -> CreateNotificationResponse {
    let user = try context.requireUser()
    let draft = request.notification ?? Notification()
    if let error = Self.fault(request, draft, at: "") { throw error }
    var response = CreateNotificationResponse()
    response.notification = try await repository.create(draft, user: user, request: try Self.key(request))
    return response
  }

  public func batchCreateNotifications(
    _ request: BatchCreateNotificationsRequest, context: CallContext
  ) async throws -> BatchCreateNotificationsResponse {
    let user = try context.requireUser()
    guard (1...NotificationsLimits.batchMax).contains(request.requests.count) else {
      throw RPCError.invalidField(
        "requests", "must have 1 to \(NotificationsLimits.batchMax) entries", reason: "BATCH_SIZE")
    }
    let faults = request.requests.enumerated().map { index, entry in
      Self.fault(entry, entry.notification ?? Notification(), at: "requests[\(index)].")
    }
    let sound = try zip(request.requests, faults).filter { $0.1 == nil }.map { entry, _ in
      (notification: entry.notification ?? Notification(), request: try Self.key(entry))
    }
    var made = (sound.isEmpty ? [] : try await repository.create(sound, user: user)).makeIterator()
    var response = BatchCreateNotificationsResponse()
    response.results = faults.map { fault in
      var result = BatchCreateResult()
      switch fault.map({ .failure($0) }) ?? made.next() {
      case .success(let notification)?: result.outcome = .notification(notification)
      case .failure(let error)?: result.outcome = .error(Self.batchError(error))
      case nil: result.outcome = .error(Self.batchError(RPCError(.internalError, "the entry has no result")))
      }
      return result
    }
    return response
  }

  public func getNotification(
    _ request: GetNotificationRequest, context: CallContext
  ) async throws -> GetNotificationResponse {
    let user = try context.requireUser()
    guard let notification = try repository.notification(request.notificationId, user: user) else {
      throw SQLiteNotificationsRepository.notFound("notification", request.notificationId, field: "notification_id")
    }
    var response = GetNotificationResponse()
    response.notification = notification
    return response
  }

  public func listNotifications(
    _ request: ListNotificationsRequest, context: CallContext
  ) async throws -> ListNotificationsResponse {
    let user = try context.requireUser()
    var violations = Violations()
    let size = NotificationRules.pageSize(request.pageSize, into: &violations)
    try violations.check()
    if !request.bucketId.isEmpty, try repository.bucket(request.bucketId, user: user) == nil {
      throw SQLiteNotificationsRepository.notFound("bucket", request.bucketId, field: "bucket_id")
    }
    let from = request.startTime.map { EntityID.lowerBound(.notification, ms: $0.millisecondsSince1970) }
    let before = request.endTime.map { EntityID.lowerBound(.notification, ms: $0.millisecondsSince1970) }
    let filter = NotificationFilter(
      bucketID: request.bucketId.isEmpty ? nil : request.bucketId, unreadOnly: request.unreadOnly, idFrom: from,
      idBefore: before)
    let digest = PageToken.filter(
      "notifications", user, request.bucketId, String(request.unreadOnly), from ?? "", before ?? "")
    let after = try PageToken.read(request.pageToken, filter: digest)
    let found = try repository.notifications(filter, user: user, after: after, limit: size + 1)
    var response = ListNotificationsResponse()
    response.notifications = Array(found.prefix(size))
    if found.count > size, let last = response.notifications.last {
      response.nextPageToken = PageToken(filter: digest, after: last.id).text
    }
    return response
  }

  public func updateNotification(
    _ request: UpdateNotificationRequest, context: CallContext
  ) async throws -> UpdateNotificationResponse {
    let user = try context.requireUser()
    var violations = Violations()
    let change = request.notification ?? Notification()
    let fields = UpdateMasks.fields(
      request.updateMask, known: UpdateMasks.notificationFields, populated: UpdateMasks.populated(change),
      into: &violations)
    var checked = Notification()
    checked.title = "unchanged"
    UpdateMasks.apply(change, to: &checked, fields)
    NotificationRules.check(checked, at: "notification", into: &violations)
    try violations.check()
    var response = UpdateNotificationResponse()
    response.notification = try await repository.update(change, fields: fields, user: user)
    return response
  }

  // MARK: state

  public func markNotificationsRead(
    _ request: MarkNotificationsReadRequest, context: CallContext
  ) async throws -> MarkNotificationsReadResponse {
    let user = try context.requireUser()
    try Self.checkIDs(request.notificationIds)
    let done = try await repository.setRead(true, ids: request.notificationIds, user: user)
    var response = MarkNotificationsReadResponse()
    response.changedCount = Int32(clamping: done.changed)
    response.unreadCounts = done.counts
    return response
  }

  public func markNotificationsUnread(
    _ request: MarkNotificationsUnreadRequest, context: CallContext
  ) async throws -> MarkNotificationsUnreadResponse {
    let user = try context.requireUser()
    try Self.checkIDs(request.notificationIds)
    let done = try await repository.setRead(false, ids: request.notificationIds, user: user)
    var response = MarkNotificationsUnreadResponse()
    response.changedCount = Int32(clamping: done.changed)
    response.unreadCounts = done.counts
    return response
  }

  public func deleteNotifications(
    _ request: DeleteNotificationsRequest, context: CallContext
  ) async throws -> DeleteNotificationsResponse {
    let user = try context.requireUser()
    try Self.checkIDs(request.notificationIds)
    let done = try await repository.delete(ids: request.notificationIds, user: user)
    var response = DeleteNotificationsResponse()
    response.deletedCount = Int32(clamping: done.deleted)
    response.unreadCounts = done.counts
    return response
  }

  public func getUnreadCounts(
    _ request: GetUnreadCountsRequest, context: CallContext
  ) async throws -> GetUnreadCountsResponse {
    var response = GetUnreadCountsResponse()
    response.unreadCounts = try repository.unreadCounts(user: try context.requireUser())
    return response
  }

  public func watchNotifications(
    _ request: WatchNotificationsRequest, context: CallContext, responses: ResponseSink<WatchNotificationsResponse>
  ) async throws {
    let user = try context.requireUser()
    try await WatchFeed(repository: repository, hub: hub, user: user, bucketID: request.bucketId)
      .run(resumeToken: request.resumeToken) { try await responses.send($0) }
  }
}

extension NotificationsService {
  /// What is wrong with a create request without looking at what is stored.
  private static func fault(_ request: CreateNotificationRequest, _ draft: Notification, at path: String) -> RPCError? {
    var violations = Violations()
    NotificationRules.check(draft, at: "\(path)notification", into: &violations)
    if draft.bucketId.isEmpty { violations.add("\(path)notification.bucket_id", "must be set", "REQUIRED") }
    NotificationRules.checkRequestID(request.requestId, at: "\(path)request_id", into: &violations)
    return violations.error
  }

  private static func key(_ request: CreateNotificationRequest) throws -> RequestKey? {
    guard !request.requestId.isEmpty else { return nil }
    var unkeyed = request
    unkeyed.requestId = ""
    return try key("CreateNotification", request.requestId, unkeyed)
  }

  private static func key(_ method: String, _ requestID: String, _ request: some ProtoMessage) throws -> RequestKey? {
    guard !requestID.isEmpty else { return nil }
    return RequestKey(method: method, requestID: requestID, digest: try SHA256.digest(request.jsonUTF8Bytes()).bytes)
  }

  private static func checkIDs(_ ids: [String]) throws(RPCError) {
    var violations = Violations()
    NotificationRules.checkIDs(ids, at: "notification_ids", into: &violations)
    try violations.check()
  }

  private static func batchError(_ error: RPCError) -> BatchError {
    var entry = BatchError()
    entry.code = Int32(error.code.rawValue)
    entry.message = error.message
    entry.reason = error.reason
    entry.field = error.fieldViolations.first?.field ?? error.errorMetadata["field"] ?? ""
    return entry
  }
}
