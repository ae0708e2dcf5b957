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
  let caller: APNsCaller

  public func createBroadcastChannel(
    _ request: CreateBroadcastChannelRequest, context: CallContext
  ) async throws -> CreateBroadcastChannelResponse {
    try context.requireOperator()
    var violations = Violations()
    request.validate(into: &violations)
    let route = try route(app: request.app, environment: request.environment, &violations)
    let policy = request.storagePolicy == .mostRecent ? 1 : 0
    let body = #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#
    let answer = try await call("POST", APNsPath.apps + request.app + APNsPath.channels, route, body: body)
    guard answer.status == 201, let id = answer.channelID, BroadcastRules.isChannelID(id) else {
      throw Self.refused(answer)
    }
    let (app, environment, nowMs) = (request.app, request.environment, delivery.delivery.environment.nowMs())
    _ = try await RPCError.convertingStoreErrors {
      try await delivery.store.write { transaction in
        try transaction.execute(
          """
          INSERT INTO push_channels (app, environment, channel_id, storage_policy, created_at_ms)
          VALUES ($1, $2, $3, $4, $5) ON CONFLICT (app, environment, channel_id) DO NOTHING
          """, [.text(app), .text(environment), .text(id), .int(policy), .integer(nowMs)])
      }
    }
    return CreateBroadcastChannelResponse(channelId: id)
  }

  public func listBroadcastChannels(
    _ request: ListBroadcastChannelsRequest, context: CallContext
  ) async throws -> ListBroadcastChannelsResponse {
    try context.requireOperator()
    var violations = Violations()
    request.validate(into: &violations)
    let route = try route(app: request.app, environment: request.environment, &violations)
    let answer = try await call("GET", APNsPath.apps + request.app + APNsPath.allChannels, route)
    guard answer.status == 200, let ids = BroadcastRules.channels(in: answer.body) else { throw Self.refused(answer) }
    return ListBroadcastChannelsResponse(channelIds: ids)
  }

  public func deleteBroadcastChannel(
    _ request: DeleteBroadcastChannelRequest, context: CallContext
  ) async throws -> DeleteBroadcastChannelResponse {
    try context.requireOperator()
    var violations = Violations()
    request.validate(into: &violations)
    let route = try route(app: request.app, environment: request.environment, &violations)
    let answer = try await call(
      "DELETE", APNsPath.apps + request.app + APNsPath.channels, route, channelID: request.channelId)
    // A repeated deletion finds no channel, which counts as success.
    let isGone = answer.status == 204 || answer.status == 200 || answer.reason == APNsReason.channelNotRegistered.text
    guard isGone else { throw Self.refused(answer) }
    let (app, environment, id) = (request.app, request.environment, request.channelId)
    _ = try await RPCError.convertingStoreErrors {
      try await delivery.store.write { transaction in
        try transaction.execute(
          "DELETE FROM push_channels WHERE app = $1 AND environment = $2 AND channel_id = $3",
          [.text(app), .text(environment), .text(id)])
      }
    }
    return DeleteBroadcastChannelResponse()
  }

  public func sendBroadcast(
    _ request: SendBroadcastRequest, context: CallContext
  ) async throws -> SendBroadcastResponse {
    try context.requireOperator()
    var violations = Violations()
    request.validate(into: &violations)
    let priority = PushPriority(rawValue: Int64(request.priority))
    if priority == nil { violations.add("priority", "must be 5, 10 or 0", .outOfRange) }
    let payload = Array((request.payload?.json ?? "").utf8)
    if request.payload != nil { BroadcastRules.check(payload, "payload", &violations) }
    _ = try route(app: request.app, environment: request.environment, &violations)
    let nowMs = delivery.delivery.environment.nowMs()
    let order = PushOrder(
      lane: PushLane.channel(request.channelId).text, kind: .broadcast, userID: "", target: .channel(request.channelId),
      route: PushRouteKey(app: request.app, environment: request.environment), pushType: .liveactivity,
      priority: priority ?? .automatic,
      payload: payload, expirationMs: request.expireTime?.millisecondsSince1970 ?? nowMs + Self.lifetimeMs,
      traceParent: nil)
    let queue = delivery.delivery.queue
    let id = try await RPCError.convertingStoreErrors {
      try await delivery.store.write { try queue.enqueue(order, in: $0) }
    }
    return SendBroadcastResponse(apnsId: id)
  }

  // MARK: Calls

  private func route(
    app: String, environment: String, _ violations: inout Violations
  ) throws(RPCError) -> PushRoute {
    ActivityRules.app(app, "app", reason: .idInvalid, &violations)
    guard let host = delivery.delivery.configuration.endpoints.channels[environment] else {
      violations.add("environment", "is not configured", .init(rawValue: "ENVIRONMENT_UNKNOWN"))
      try violations.check()
      throw RPCError(.internalError, "an unknown environment passed validation")
    }
    try violations.check()
    guard let id = delivery.delivery.keys.id(app: app, environment: environment) else {
      throw RPCError(
        .failedPrecondition, "no signing key matches this app", .signingKeyMissing,
        errorMetadata: ["app": app, "environment": environment])
    }
    return PushRoute(host: host, teamID: id.teamID, keyID: id.keyID)
  }

  private func call(
    _ method: String, _ path: String, _ route: PushRoute, channelID: String? = nil, body: String = ""
  ) async throws -> PushAnswer {
    let authorization = try await RPCError.convertingStoreErrors {
      try await delivery.routing.authorization(for: route)
    }
    var request = PushRequest(
      ticket: 0, path: path, authorization: authorization, id: "", payload: Array(body.utf8))
    request.method = method
    request.channelID = channelID
    return try await caller.call(request, to: route)
  }

  /// Maps a refusal by APNs to an RPC error that carries APNs' reason.
  private static func refused(_ answer: PushAnswer) -> RPCError {
    let reason = answer.reason.isEmpty ? "Status\(answer.status)" : answer.reason
    let code: RPCError.Code =
      switch answer.status {
      case 429: .resourceExhausted
      case 400..<500: .failedPrecondition
      default: .unavailable
      }
    return RPCError(
      code, "APNs refused: \(reason)", reason: "APNS_REFUSED",
      errorMetadata: ["apnsReason": reason, "status": "\(answer.status)"])
  }
}
