public import CampanileAPI
import CampanileCodec
public import CampanileRPC
import CampanileService

extension NotificationsService {
  public func createBucket(_ request: CreateBucketRequest, context: CallContext) async throws -> CreateBucketResponse {
    let user = try context.requireUser()
    var violations = Violations()
    request.validate(into: &violations)
    let draft = request.bucket ?? Bucket()
    BucketRules.check(draft, "bucket", &violations)
    try violations.check()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: NotificationsServiceMethods.createBucket, user: user)
    return CreateBucketResponse(bucket: try await repository.createBucket(draft, user: user, idempotency: idempotency))
  }

  public func getBucket(_ request: GetBucketRequest, context: CallContext) async throws -> GetBucketResponse {
    let user = try context.requireUser()
    return GetBucketResponse(bucket: try await repository.bucket(request.bucketId, user: user))
  }

  public func listBuckets(_ request: ListBucketsRequest, context: CallContext) async throws -> ListBucketsResponse {
    let user = try context.requireUser()
    let query = try BucketQuery(request, user: user, limits: limits)
    let (found, token) = try await repository.buckets(query)
    let (buckets, nextPageToken) = query.page.page(found) { [$0.name, $0.id] }
    return ListBucketsResponse(
      buckets: buckets, nextPageToken: nextPageToken, resumeToken: token.text(user: user))
  }

  public func listDeletedBuckets(
    _ request: ListDeletedBucketsRequest, context: CallContext
  ) async throws -> ListDeletedBucketsResponse {
    let query = try BucketQuery(request, user: try context.requireUser(), limits: limits)
    let (buckets, nextPageToken) = query.page.page(try await repository.buckets(query).buckets) { [$0.name, $0.id] }
    return ListDeletedBucketsResponse(buckets: buckets, nextPageToken: nextPageToken)
  }

  public func updateBucket(_ request: UpdateBucketRequest, context: CallContext) async throws -> UpdateBucketResponse {
    let user = try context.requireUser()
    let (change, fields) = try UpdateMask.change(
      request.bucket, "bucket", request.updateMask, BucketRules.check(_:of:_:_:))
    return UpdateBucketResponse(bucket: try await repository.updateBucket(change, fields: fields, user: user))
  }

  public func deleteBucket(_ request: DeleteBucketRequest, context: CallContext) async throws -> DeleteBucketResponse {
    let user = try context.requireUser()
    let count = try await repository.deleteBucket(request.bucketId, etag: request.etag, user: user)
    return DeleteBucketResponse(deletedNotificationCount: Int32(clamping: count))
  }

  public func undeleteBucket(
    _ request: UndeleteBucketRequest, context: CallContext
  ) async throws -> UndeleteBucketResponse {
    UndeleteBucketResponse(
      bucket: try await repository.undeleteBucket(request.bucketId, user: try context.requireUser()))
  }

  public func getBucketSettings(
    _ request: GetBucketSettingsRequest, context: CallContext
  ) async throws -> GetBucketSettingsResponse {
    let user = try context.requireUser()
    return GetBucketSettingsResponse(settings: try await repository.bucket(request.bucketId, user: user).settings)
  }

  public func updateBucketSettings(
    _ request: UpdateBucketSettingsRequest, context: CallContext
  ) async throws -> UpdateBucketSettingsResponse {
    let user = try context.requireUser()
    let nowMs = repository.clockMs()
    let (change, fields) = try UpdateMask.change(request.settings, "settings", request.updateMask) {
      (field: BucketSettingsField, settings: BucketSettings, path: String, violations: inout Violations) in
      BucketRules.check(field, of: settings, path, nowMs: nowMs, &violations)
    }
    return UpdateBucketSettingsResponse(
      settings: try await repository.updateBucketSettings(change, fields: fields, user: user))
  }
}
