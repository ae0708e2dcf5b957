public import CampanileAPI
import CampanileBase
import CampanileCodec
internal import CampanileCrypto
public import CampanileRPC
import CampanileService

/// Serves `campanile.notifications.v1.SharingService`: access of other users to a bucket as readers, publishers or
/// admins.
public struct SharingService: SharingServiceProtocol {
  static let secretPrefix = "cpk_"

  let repository: any NotificationsRepository
  let notifications: NotificationsService

  public func shareBucket(_ request: ShareBucketRequest, context: CallContext) async throws -> ShareBucketResponse {
    let user = try context.requireUser()
    var violations = Violations()
    request.validate(into: &violations)
    RequestChecks.future(request.expireTime, "expireTime", nowMs: repository.clockMs(), &violations)
    try violations.check()
    let share = BucketShare(userId: request.userId, role: request.role, expireTime: request.expireTime)
    var response = ShareBucketResponse()
    switch try await repository.share(request.bucketId, share, by: user) {
    case .shared(let share): response.share = share
    case .invited(let invitation): response.invitation = invitation
    }
    return response
  }

  public func unshareBucket(
    _ request: UnshareBucketRequest, context: CallContext
  ) async throws -> UnshareBucketResponse {
    try await repository.unshare(request.bucketId, from: request.userId, by: try context.requireUser())
    return UnshareBucketResponse()
  }

  public func listBucketShares(
    _ request: ListBucketSharesRequest, context: CallContext
  ) async throws -> ListBucketSharesResponse {
    let query = try PositionQuery(
      user: try context.requireUser(), pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["shares", request.bucketId], parts: 1, limits: notifications.limits)
    let (shares, nextPageToken) = query.page(try await repository.shares(of: request.bucketId, query)) { [$0.userId] }
    return ListBucketSharesResponse(shares: shares, nextPageToken: nextPageToken)
  }

  public func createPublishKey(
    _ request: CreatePublishKeyRequest, context: CallContext
  ) async throws -> CreatePublishKeyResponse {
    let user = try context.requireUser()
    var violations = Violations()
    request.validate(into: &violations)
    RequestChecks.future(request.expireTime, "expireTime", nowMs: repository.clockMs(), &violations)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: SharingServiceMethods.createPublishKey, user: user)
    if let key = try await repeated(PublishKey.self, idempotency, violations) { return .init(key: key) }
    let (secret, hash) = try Self.makeSecret()
    let draft = PublishKey(name: request.name, expireTime: request.expireTime, hint: String(secret.prefix(8)))
    let (key, isRepeated) = try await repository.createPublishKey(
      draft, secretHash: hash, bucketID: request.bucketId, by: user, idempotency: idempotency)
    return CreatePublishKeyResponse(key: key, secret: isRepeated ? "" : secret)
  }

  public func listPublishKeys(
    _ request: ListPublishKeysRequest, context: CallContext
  ) async throws -> ListPublishKeysResponse {
    let query = try PositionQuery(
      user: try context.requireUser(), pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["publish-keys", request.bucketId], parts: 1, limits: notifications.limits)
    let (keys, nextPageToken) = query.page(try await repository.publishKeys(of: request.bucketId, query)) { [$0.id] }
    return ListPublishKeysResponse(keys: keys, nextPageToken: nextPageToken)
  }

  public func revokePublishKey(
    _ request: RevokePublishKeyRequest, context: CallContext
  ) async throws -> RevokePublishKeyResponse {
    try await repository.revokePublishKey(request.keyId, of: request.bucketId, by: try context.requireUser())
    return RevokePublishKeyResponse()
  }

  public func publishWithKey(
    _ request: PublishWithKeyRequest, context: CallContext
  ) async throws -> PublishWithKeyResponse {
    let (owner, bucketID) = try await repository.publishTarget(secretHash: try Self.hash(request.secret))
    var inner = CreateNotificationRequest(notification: request.notification, requestId: request.requestId)
    guard request.notification?.bucketId.isEmpty ?? true else {
      throw RPCError.invalidField("notification.bucketId", "must be empty: the key determines the bucket", .outOfRange)
    }
    inner.notification?.bucketId = bucketID
    let idempotency = try IdempotentRequest(
      request.requestId, inner, method: SharingServiceMethods.publishWithKey, user: owner)
    return PublishWithKeyResponse(
      notificationId: try await notifications.create(inner, user: owner, idempotency: idempotency).id)
  }

  /// Returns the stored reply of a repeated request that is no longer valid, because one of its times has passed.
  /// Throws the violations if there is none. Returns nil for a valid request.
  func repeated<M: ProtoMessage>(
    _ type: M.Type, _ idempotency: IdempotentRequest?, _ violations: Violations
  ) async throws -> M? {
    if violations.isEmpty { return nil }
    if let reply = try await repository.reply(type, to: idempotency) { return reply }
    try violations.check()
    return nil
  }

  static func makeSecret(_ prefix: String = secretPrefix) throws(RPCError) -> (secret: String, hash: [UInt8]) {
    do throws(CryptoError) {
      let secret = prefix + Base64URL.encode(try SecureRandom.bytes(32))
      return (secret, try SHA256.digest(Array(secret.utf8)).bytes)
    } catch {
      throw RPCError(.internalError, "a secret cannot be generated")
    }
  }

  static func hash(_ secret: String) throws(RPCError) -> [UInt8] {
    do throws(CryptoError) {
      // A valid secret is shorter than this, so a longer text cannot match; this bounds the cost of hashing.
      return try SHA256.digest(Array(secret.utf8.prefix(64))).bytes
    } catch {
      throw RPCError(.internalError, "the secret cannot be hashed")
    }
  }
}
