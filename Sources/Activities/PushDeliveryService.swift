public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
public import CampanileService
public import CampanileStore

/// Implements `campanile.activities.v1.PushDeliveryService`: delivery results of pushes, and operations on dead
/// letters.
public struct PushDeliveryService: PushDeliveryServiceProtocol, StoreBacked {
  public let store: Store
  public let clockMs: @Sendable () -> Int64
  let notifier: DeliveryNotifier
  let limits: ActivitiesLimits

  public func getPush(_ request: GetPushRequest, context: CallContext) async throws -> GetPushResponse {
    try context.requireOperator()
    try request.checkConstraints()
    let response = try await read { transaction -> GetPushResponse? in
      // The delivery log is shorter than the time for which a dead letter is retained.
      let push = try [PushReading.deliveryLogOneSQL, PushReading.waitingSQL, PushReading.deadOneSQL].lazy.compactMap {
        try transaction.queryOne($0, [.text(request.apnsId)], PushReading.push)
      }.first
      guard let push else { return nil }
      guard request.includePayload else { return GetPushResponse(push: push) }
      let payload = try [PushReading.waitingPayloadSQL, PushReading.deadPayloadSQL].lazy.compactMap {
        try transaction.queryOne($0, [.text(request.apnsId)]) { try $0.bytes(0) }
      }.first
      return GetPushResponse(push: push, payloadJson: String(decoding: payload ?? [], as: UTF8.self))
    }
    guard let response else { throw RPCError.missing("push", request.apnsId, field: "apnsId", .pushNotFound) }
    return response
  }

  public func listPushes(_ request: ListPushesRequest, context: CallContext) async throws -> ListPushesResponse {
    try context.requireOperator()
    var violations = Violations()
    request.validate(into: &violations)
    if !request.userId.isEmpty, !request.activityId.isEmpty {
      violations.add("activityId", "must not be given together with userId", .fieldNotAllowed)
    }
    if !request.tokenId.isEmpty, request.userId.isEmpty {
      violations.add("userId", "must be given with tokenId", .required)
    }
    if let start = request.startTime, let end = request.endTime,
      start.millisecondsSince1970 >= end.millisecondsSince1970
    {
      violations.add("endTime", "must be after startTime", .timeRangeEmpty)
    }
    try violations.check()
    let filter = PushFilter(request: request)
    let query = try PositionQuery(
      user: "", pageSize: request.pageSize, pageToken: request.pageToken, scope: filter.scope, parts: 1,
      limits: limits)
    let resumeToken = try await RPCError.convertingStoreErrors {
      try await notifier.ends.start(resumeToken: "", store).text(user: PushEnds.scope)
    }
    let page = try await read { try filter.page(before: query.position.first, countMax: query.pageSize, in: $0) }
    let nextPageToken = page.continuesAfter.map { query.token([$0]) } ?? ""
    return ListPushesResponse(pushes: page.pushes, nextPageToken: nextPageToken, resumeToken: resumeToken)
  }

  public func watchPushes(
    _ request: WatchPushesRequest, context: CallContext, responses: ResponseSink<WatchPushesResponse>
  ) async throws {
    try context.requireOperator()
    try request.checkConstraints()
    let watch = PushWatch(store: store, ends: notifier.ends)
    try await watch.run(request) { try await responses.send($0) }
  }

  public func listActivityUsers(
    _ request: ListActivityUsersRequest, context: CallContext
  ) async throws -> ListActivityUsersResponse {
    try context.requireOperator()
    try request.checkConstraints()
    let query = try PositionQuery(
      user: "", pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["activity-users", request.userIdPrefix], parts: 1, limits: limits)
    let found = try await read { try ActivityUsers.list(query, prefix: request.userIdPrefix, in: $0) }
    let (users, nextPageToken) = query.page(found) { [$0.userId] }
    return ListActivityUsersResponse(users: users, nextPageToken: nextPageToken)
  }

  public func listDeadLetters(
    _ request: ListDeadLettersRequest, context: CallContext
  ) async throws -> ListDeadLettersResponse {
    try context.requireOperator()
    let query = try PositionQuery(
      user: "", pageSize: request.pageSize, pageToken: request.pageToken, scope: ["dead-letters"], parts: 1,
      limits: limits)
    let found = try await read { transaction in
      try transaction.query(
        PushReading.deadSQL, [.text(query.position.first ?? ""), .int(query.pageSize + 1)], PushReading.push)
    }
    let (pushes, nextPageToken) = query.page(found) { [$0.apnsId] }
    return ListDeadLettersResponse(pushes: pushes, nextPageToken: nextPageToken)
  }

  public func replayDeadLetters(
    _ request: ReplayDeadLettersRequest, context: CallContext
  ) async throws -> ReplayDeadLettersResponse {
    try context.requireOperator()
    try request.checkConstraints()
    let (notifier, clockMs) = (notifier, clockMs)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: PushDeliveryServiceMethods.replayDeadLetters, user: context.operatorName)
    return try await storeWrite { transaction in
      if let reply = try storedReply(ReplayDeadLettersResponse.self, idempotency, transaction) { return reply }
      var response = ReplayDeadLettersResponse()
      for id in request.apnsIds {
        switch try DeadLetters.replay(id, notifier: notifier, nowMs: clockMs(), in: transaction) {
        case .replayed: response.replayedCount += 1
        case .superseded: response.supersededCount += 1
        case .unknown: response.missingIds.append(id)
        }
      }
      try storeReply(response, idempotency, transaction)
      return response
    }
  }

  public func deleteDeadLetters(
    _ request: DeleteDeadLettersRequest, context: CallContext
  ) async throws -> DeleteDeadLettersResponse {
    try context.requireOperator()
    try request.checkConstraints()
    return try await storeWrite { transaction in
      var response = DeleteDeadLettersResponse()
      for id in request.apnsIds {
        let count = try transaction.executeCounting(DeadLetters.deleteSQL, [.text(id)])
        if count == 0 { response.missingIds.append(id) }
        response.deletedCount += Int32(clamping: count)
      }
      return response
    }
  }

  public func listPushStatistics(
    _ request: ListPushStatisticsRequest, context: CallContext
  ) async throws -> ListPushStatisticsResponse {
    try context.requireOperator()
    let hourMs = StatisticsDelta.hourMs
    var violations = Violations()
    request.validate(into: &violations)
    ActivityRules.app(request.app, "app", &violations)
    let endMs = request.endTime?.millisecondsSince1970 ?? clockMs()
    let startMs = request.startTime?.millisecondsSince1970 ?? endMs - 24 * hourMs
    if startMs >= endMs { violations.add("endTime", "must be after startTime", .timeRangeEmpty) }
    if endMs > startMs, endMs - startMs > Int64(StatisticsReading.hoursMax) * hourMs {
      violations.add("endTime", "must be at most 31 days after startTime", .outOfRange)
    }
    try violations.check()
    let query = try PositionQuery(
      user: "", pageSize: request.pageSize, pageToken: request.pageToken,
      scope: [
        "push-statistics", request.app, request.startTime?.jsonString() ?? "", request.endTime?.jsonString() ?? "",
      ], parts: 1, limits: limits)
    // Include the whole hour that contains the start time.
    var firstMs = startMs - (startMs % hourMs + hourMs) % hourMs
    if let last = query.position.first.flatMap({ Int64($0) }) { firstMs = max(firstMs, last + hourMs) }
    let found = try await read { [firstMs] in
      try StatisticsReading.hours(
        app: request.app, startMs: firstMs, endMs: endMs, hoursMax: query.pageSize + 1, in: $0)
    }
    let (hours, nextPageToken) = query.page(found) { [String($0.startTime?.millisecondsSince1970 ?? 0)] }
    return ListPushStatisticsResponse(hours: hours, nextPageToken: nextPageToken)
  }
}

/// Error reasons of delivery and signing.
extension Reason {
  static let pushNotFound = Reason(rawValue: "PUSH_NOT_FOUND")
  static let signingKeyNotFound = Reason(rawValue: "SIGNING_KEY_NOT_FOUND")
  static let signingKeyInvalid = Reason(rawValue: "SIGNING_KEY_INVALID")
  static let signingKeyRevoked = Reason(rawValue: "SIGNING_KEY_REVOKED")
  static let payloadInvalid = Reason(rawValue: "BROADCAST_PAYLOAD_INVALID")
  static let payloadTooLong = Reason(rawValue: "BROADCAST_PAYLOAD_TOO_LONG")
}
