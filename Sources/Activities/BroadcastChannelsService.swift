import APNs
public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService
import CampanileStore

/// Implements `campanile.activities.v1.BroadcastChannelsService`: manages channels at APNs and pushes to them.
public struct BroadcastChannelsService: BroadcastChannelsServiceProtocol {
  /// Lifetime of a broadcast whose sender sets no expiration.
  static let lifetimeMs: Int64 = 3_600_000

  let delivery: RunningDelivery
  let limits: ActivitiesLimits

  private var directory: ChannelDirectory { ChannelDirectory(delivery: delivery) }
  private var replies: Replies { Replies(store: delivery.store, clockMs: delivery.delivery.environment.nowMs) }

  /// The stored replies of repeated requests.
  private struct Replies: StoreBacked {
    let store: Store
    let clockMs: @Sendable () -> Int64
  }

  public func createBroadcastChannel(
    _ request: CreateBroadcastChannelRequest, context: CallContext
  ) async throws -> CreateBroadcastChannelResponse {
    try context.requireOperator()
    let scope = try check(request, app: request.app, environment: request.environment)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: BroadcastChannelsServiceMethods.createBroadcastChannel,
      user: context.operatorName)
    if let reply = try await reply(CreateBroadcastChannelResponse.self, idempotency) { return reply }
    let channel = scope.channel(try await directory.create(scope, request.storagePolicy), request.storagePolicy)
    let replies = replies
    let response = try await replies.storeWrite { transaction in
      // A concurrent repetition may have been faster.
      if let reply = try replies.storedReply(CreateBroadcastChannelResponse.self, idempotency, transaction) {
        return reply
      }
      let response = CreateBroadcastChannelResponse(channel: channel)
      try channel.remember(transaction, atMs: replies.clockMs())
      try replies.storeReply(response, idempotency, transaction)
      return response
    }
    // Only one of the concurrent calls' channels is reported, so nobody would ever use the other.
    if let other = response.channel, other.id != channel.id { try await directory.delete(channel.id, scope) }
    return response
  }

  public func getBroadcastChannel(
    _ request: GetBroadcastChannelRequest, context: CallContext
  ) async throws -> GetBroadcastChannelResponse {
    try context.requireOperator()
    let scope = try check(request, app: request.app, environment: request.environment)
    return GetBroadcastChannelResponse(channel: try await directory.read(request.channelId, scope))
  }

  public func listBroadcastChannels(
    _ request: ListBroadcastChannelsRequest, context: CallContext
  ) async throws -> ListBroadcastChannelsResponse {
    try context.requireOperator()
    let scope = try check(request, app: request.app, environment: request.environment)
    let query = try PositionQuery(
      user: "", pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["channels", scope.app, scope.environment], parts: 1, limits: limits)
    let last = query.position.first ?? ""
    let (ids, nextPageToken) = query.page(try await directory.ids(scope).filter { $0 > last }) { [$0] }
    return ListBroadcastChannelsResponse(
      channels: try await directory.find(all: ids, scope), nextPageToken: nextPageToken)
  }

  public func deleteBroadcastChannel(
    _ request: DeleteBroadcastChannelRequest, context: CallContext
  ) async throws -> DeleteBroadcastChannelResponse {
    try context.requireOperator()
    let scope = try check(request, app: request.app, environment: request.environment)
    try await directory.delete(request.channelId, scope)
    return DeleteBroadcastChannelResponse()
  }

  public func sendBroadcast(
    _ request: SendBroadcastRequest, context: CallContext
  ) async throws -> SendBroadcastResponse {
    try context.requireOperator()
    let payload = Array(request.payloadJson.utf8)
    var violations = Violations()
    request.validate(into: &violations)
    if JSONObjectText.object(request.payloadJson, "payloadJson", &violations) {
      BroadcastRules.check(payload, "payloadJson", &violations)
    }
    let expireMs = TimeRules.milliseconds(request.expireTime, "expireTime", &violations)
    let scope = try check(app: request.app, environment: request.environment, violations)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: BroadcastChannelsServiceMethods.sendBroadcast, user: context.operatorName)
    if let reply = try await reply(SendBroadcastResponse.self, idempotency) { return reply }
    let channel = try await directory.find(request.channelId, scope)
    if channel.storagePolicy == .noneValue, expireMs != nil {
      throw RPCError.invalidField("expireTime", "is not allowed: the channel stores no messages", .fieldNotAllowed)
    }
    let order = PushOrder(
      lane: PushLane.channel(channel.id).text, kind: .broadcast, userID: "", target: .channel(channel.id),
      route: PushRouteKey(app: scope.app, environment: scope.environment), pushType: .liveactivity,
      priority: PushPriority(request.urgency), payload: payload,
      // APNs requires 0 for a channel that stores no messages.
      expirationMs: channel.storagePolicy == .noneValue ? 0 : expireMs ?? replies.clockMs() + Self.lifetimeMs,
      traceParent: context.traceParent)
    let (queue, replies) = (delivery.delivery.queue, replies)
    return try await replies.storeWrite { transaction in
      if let reply = try replies.storedReply(SendBroadcastResponse.self, idempotency, transaction) { return reply }
      let response = SendBroadcastResponse(apnsId: try queue.enqueue(order, in: transaction))
      try replies.storeReply(response, idempotency, transaction)
      return response
    }
  }

  // MARK: Checks

  private func check(
    _ request: some ValidatedMessage, app: String, environment: String
  ) throws(RPCError) -> ChannelDirectory.Scope {
    var violations = Violations()
    request.validate(into: &violations)
    return try check(app: app, environment: environment, violations)
  }

  /// Checks the app and the environment after the constraints of the request.
  ///
  /// - Throws: INVALID_ARGUMENT naming every invalid field; FAILED_PRECONDITION, reason `SIGNING_KEY_MISSING`.
  private func check(
    app: String, environment: String, _ found: Violations
  ) throws(RPCError) -> ChannelDirectory.Scope {
    var violations = found
    ActivityRules.app(app, "app", &violations)
    if !environment.isEmpty, delivery.delivery.configuration.endpoints.channels[environment] == nil {
      violations.add("environment", "is not configured", .environmentUnknown)
    }
    try violations.check()
    let scope = ChannelDirectory.Scope(app: app, environment: environment)
    _ = try directory.route(scope)
    return scope
  }

  /// Returns the stored reply of a repeated request before APNs is asked.
  private func reply<M: ProtoMessage>(_ type: M.Type, _ idempotency: IdempotentRequest?) async throws -> M? {
    guard idempotency != nil else { return nil }
    let replies = replies
    return try await replies.storeWrite { try replies.storedReply(type, idempotency, $0) }
  }
}
