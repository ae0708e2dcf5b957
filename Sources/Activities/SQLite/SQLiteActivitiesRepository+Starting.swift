import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteActivitiesRepository {
  static let lifetimeMs = Int64(APNsLimits.activitySecondsMax) * 1_000
  /// Time after which APNs need not deliver a start.
  static let startExpirationMs: Int64 = 3_600_000

  func start(_ draft: ActivityDraft, user: String, idempotency: IdempotentRequest?) async throws -> Activity {
    try await write { transaction in
      try once(idempotency, transaction) { try start(draft, user: user, transaction).message }
    }
  }

  func reply(to idempotency: IdempotentRequest?) async throws -> Activity? {
    guard idempotency != nil else { return nil }
    return try await storeWrite { try storedReply(Activity.self, idempotency, $0) }
  }

  /// Starts an activity. All checks precede the first write.
  func start(_ draft: ActivityDraft, user: String, _ transaction: WriteTransaction) throws -> StoredActivity {
    let next = ids.next(prefix: SortableID.activityPrefix, after: try notifier.foreignTimeMs(transaction))
    let nowMs = next.timeMs
    var activity = Self.activity(draft, id: draft.id.isEmpty ? next.id : draft.id, user: user, nowMs: nowMs)
    let known = try transaction.queryOne(ActivityRow.oneSQL, [.text(user), .text(activity.id)], ActivityRow.activity)
    guard known == nil else {
      throw RPCError(
        .alreadyExists, "activityId: the activity already exists", .activityExists,
        fieldViolations: [
          .init(field: "activityId", description: "already exists", reason: Reason.activityExists.rawValue)
        ])
    }
    try renderUnread(&activity, transaction)
    let replaced = try sameSubject(draft, user: user, transaction)
    guard try counts(user: user, transaction).activities - Int64(replaced.count) < limits.activitiesPerUserMax else {
      throw RPCError.exhausted(
        "a user can have at most \(limits.activitiesPerUserMax) live activities", .activitiesExhausted,
        limit: limits.activitiesPerUserMax)
    }
    let payload =
      draft.start.attributes == nil
      ? try self.payload(StateChange(), of: activity, nowMs: nowMs) : try startPayload(activity, draft.start)
    let isPushed = draft.origin == .remote && draft.startAtMs == nil
    let tokens = isPushed ? try startTokens(activity, draft.start, transaction) : []
    for other in replaced { _ = try end(other, .init(reason: .replaced, dismissal: .immediate), transaction) }
    switch draft.origin {
    case .remote: activity.status = draft.startAtMs != nil ? .scheduled : .starting
    default: activity.status = draft.startAtMs != nil ? .pending : .active
    }
    if !draft.channelID.isEmpty, activity.status == .starting { activity.status = .active }
    try ActivityRow.insert(activity, transaction)
    try StartRow.insert(draft.start, id: activity.id, user: user, transaction)
    try count(activities: 1, user: user, transaction)
    try setTimer(.expire, activity, dueMs: activity.expireMs, transaction)
    if let startAtMs = draft.startAtMs { try setTimer(.start, activity, dueMs: startAtMs, transaction) }
    if let endAtMs = draft.endAtMs { try setTimer(.end, activity, dueMs: endAtMs, transaction) }
    try setDriverTimers(activity, transaction)
    if isPushed { try push(payload, startOf: activity, to: tokens, draft.traceParent, transaction) }
    try transaction.log(.started, activity, atMs: nowMs, notifier)
    return activity
  }

  private static func activity(_ draft: ActivityDraft, id: String, user: String, nowMs: Int64) -> StoredActivity {
    let startMs = draft.startAtMs ?? nowMs
    var activity = StoredActivity(
      user: user, id: id, app: draft.app, environment: draft.environment, status: .active, origin: draft.origin,
      contentState: draft.contentState, createdMs: nowMs, updatedMs: nowMs, startMs: startMs,
      expireMs: startMs + lifetimeMs, apsTimestamp: PushClock.next(after: 0, nowMs: nowMs), renews: draft.renews,
      channelID: draft.channelID)
    activity.scheduledEndMs = draft.endAtMs
    activity.staleMs = draft.staleMs
    activity.relevanceScore = draft.relevanceScore
    activity.driver = draft.driver
    activity.groupID = draft.groupID
    return activity
  }

  /// Returns the live activities that a new room replaces.
  private func sameSubject(
    _ draft: ActivityDraft, user: String, _ transaction: ReadTransaction
  ) throws -> [StoredActivity] {
    guard case .room(let state) = draft.driver else { return [] }
    return try driven(.room, app: draft.app, subject: state.roomId, user: user, transaction)
  }

  /// Encodes the payload that starts an activity on a device.
  ///
  /// Also checked for an activity that an app started and that can be renewed: attributes and state share the 4 KB.
  func startPayload(_ activity: StoredActivity, _ start: StartContent) throws -> [UInt8] {
    let payload = PushPayload(
      event: .start, timestamp: activity.apsTimestamp, contentState: activity.contentState,
      staleMs: activity.staleMs, relevanceScore: activity.relevanceScore, alert: start.alert,
      start: .init(
        attributesType: start.attributesType, attributes: start.attributes ?? "{}", channelID: activity.channelID)
    ).bytes()
    guard payload.count <= APNsLimits.payloadBytesMax else {
      throw RPCError.payloadTooLarge("contentStateJson", sizeBytes: payload.count, limit: APNsLimits.payloadBytesMax)
    }
    return payload
  }

  /// Returns the tokens to push a start to. Throws FAILED_PRECONDITION, reason `PUSH_TO_START_TOKEN_MISSING`, if there
  /// are none.
  func startTokens(
    _ activity: StoredActivity, _ start: StartContent, _ transaction: ReadTransaction
  ) throws -> [TokenRow] {
    let tokens = try liveTokens(.pushToStart, app: activity.app, user: activity.user, transaction).filter { token in
      token.environment == activity.environment
        && (start.installationID.isEmpty || token.installationID == start.installationID)
        && (token.subject.isEmpty || token.subject == start.attributesType)
        && OSVersion.canStart(token.values.osVersion, hasChannel: !activity.channelID.isEmpty)
    }
    guard !tokens.isEmpty else {
      throw RPCError.refused(
        start.installationID.isEmpty ? "app" : "installationId",
        "no push-to-start token is known: the app registers one when it runs", .pushToStartTokenMissing)
    }
    // Prefer an installation's token for this attributes type over its token for all types.
    var chosen: [String: TokenRow] = [:]
    for token in tokens {
      if let other = chosen[token.installationID], !other.subject.isEmpty { continue }
      chosen[token.installationID] = token
    }
    return chosen.values.sorted { $0.id < $1.id }
  }

  func push(
    _ payload: [UInt8], startOf activity: StoredActivity, to tokens: [TokenRow], _ traceParent: String?,
    _ transaction: WriteTransaction
  ) throws {
    let nowMs = clockMs()
    for token in tokens {
      try queue.enqueue(
        PushOrder(
          lane: PushLane.token(token.id).text, kind: .start, userID: activity.user, activityID: activity.id,
          target: .token(token.id), route: activity.route, pushType: .liveactivity, priority: .high, payload: payload,
          expirationMs: nowMs + Self.startExpirationMs, traceParent: traceParent), in: transaction)
      try touch(token, nowMs: nowMs, transaction)
    }
  }
}
