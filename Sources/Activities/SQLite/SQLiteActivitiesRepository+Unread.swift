import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteActivitiesRepository {
  static let summarySQL = "SELECT sequence, payload FROM unread_summaries WHERE user_id = $1"
  static let putSummarySQL = """
    INSERT INTO unread_summaries (user_id, sequence, updated_at_ms, payload) VALUES ($1, $2, $3, $4)
    ON CONFLICT (user_id) DO UPDATE
    SET sequence = excluded.sequence, updated_at_ms = excluded.updated_at_ms, payload = excluded.payload
    WHERE unread_summaries.sequence < excluded.sequence
    """
  static let unreadSQL = """
    SELECT \(ActivityRow.columns) FROM activities
    WHERE user_id = $1 AND driver_kind = $2 AND ended_at_ms IS NULL AND driver_kind > 0
    """
  static let alertSource = "alert"

  func put(_ summary: UnreadSummary, sequence: Int64, user: String) async throws -> PutUnreadSummaryResponse {
    let payload = summary.jsonUTF8Bytes()
    return try await write { transaction in
      let nowMs = clockMs()
      var response = PutUnreadSummaryResponse()
      let changed = try transaction.executeCounting(
        Self.putSummarySQL, [.text(user), .integer(sequence), .integer(nowMs), .blob(payload)])
      guard changed > 0 else {
        response.knownSequence =
          try transaction.queryOne(Self.summarySQL, [.text(user)]) { try $0.integer(0) } ?? sequence
        return response
      }
      let shown = try transaction.query(
        Self.unreadSQL, [.text(user), .integer(ActivityDriver.Kind.unread.rawValue)], ActivityRow.activity)
      for activity in shown {
        guard case .unread(var state) = activity.driver else { continue }
        state.sequence = sequence
        let content = UnreadRenderer(state, dates: policy.dates(of: activity.app)).content(summary)
        let change = StateChange(
          contentState: content, driver: .unread(state), traceParent: CallScope.trace?.text)
        _ = try apply(change, to: activity, transaction)
      }
      response.accepted = true
      response.knownSequence = sequence
      response.activityCount = Int32(clamping: shown.count)
      return response
    }
  }

  /// Renders the newest unread summary into a starting activity.
  ///
  /// Runs in the transaction of the start, so that no later summary is missed.
  func renderUnread(_ activity: inout StoredActivity, _ transaction: ReadTransaction) throws {
    guard case .unread(var state) = activity.driver else { return }
    var summary = UnreadSummary(updateTime: ProtoTimestamp(millisecondsSince1970: activity.createdMs))
    if let known = try unreadSummary(user: activity.user, transaction) {
      (summary, state.sequence) = known
    }
    activity.driver = .unread(state)
    activity.contentState = UnreadRenderer(state, dates: policy.dates(of: activity.app)).content(summary)
  }

  private func unreadSummary(
    user: String, _ transaction: ReadTransaction
  ) throws -> (summary: UnreadSummary, sequence: Int64)? {
    let found = try transaction.queryOne(Self.summarySQL, [.text(user)]) { row in
      (try row.integer(0), try row.bytes(1))
    }
    guard let (sequence, payload) = found else { return nil }
    do throws(ProtoJSONError) {
      return (try UnreadSummary(jsonUTF8: payload), sequence)
    } catch {
      throw StoreError(.corrupt, "an unread summary cannot be read: \(error.reason)")
    }
  }

  func reload(_ reload: WidgetReload, idempotency: IdempotentRequest?) async throws -> ReloadWidgetsResponse {
    try await write { transaction in
      try once(idempotency, transaction) {
        let nowMs = clockMs()
        var response = ReloadWidgetsResponse()
        for kind in reload.kinds {
          let tokens = try liveTokens(kind, app: reload.app, user: reload.user, transaction)
          for token in tokens where reload.controlID == nil || token.subject == reload.controlID {
            let id = try queue.enqueue(
              PushOrder(
                lane: PushLane.token(token.id).text, kind: .reload, userID: reload.user, activityID: nil,
                target: .token(token.id), route: PushRouteKey(app: token.app, environment: token.environment),
                pushType: kind == .widgets ? .widgets : .controls, priority: .high, payload: WidgetReload.payload,
                // Not stored, so that it displaces no alert; the device reloads by itself later.
                expirationMs: 0, traceParent: reload.traceParent), in: transaction)
            response.apnsIds.append(id)
            try touch(token, nowMs: nowMs, transaction)
          }
        }
        return response
      }
    }
  }

  func hasSent(alertID: String, user: String) async throws -> Bool {
    try await readSingle { try $0.hasAccepted(source: Self.alertSource, messageID: "\(user)/\(alertID)") }
  }

  func send(_ alert: AlertDraft) async throws -> [String]? {
    try await write { transaction in
      let nowMs = clockMs()
      let isNew = try transaction.acceptOnce(
        source: Self.alertSource, messageID: "\(alert.user)/\(alert.id)", nowMs: nowMs)
      guard isNew else { return nil }
      var ids: [String] = []
      for token in try liveTokens(.device, app: alert.app, user: alert.user, transaction)
      where alert.installationID == nil || alert.installationID == token.installationID {
        let id = try queue.enqueue(
          PushOrder(
            lane: PushLane.token(token.id).text, kind: alert.isBackground ? .background : .alert, userID: alert.user,
            activityID: nil, target: .token(token.id),
            route: PushRouteKey(app: token.app, environment: token.environment),
            pushType: alert.isBackground ? .background : .alert, priority: alert.priority,
            payload: policy.payload(of: alert, for: token.app),
            expirationMs: alert.expireMs, collapseID: alert.collapseID, traceParent: alert.traceParent,
            receipt: alert.receipt(deviceID: token.id)),
          in: transaction)
        ids.append(id)
        if policy.reportsDeliveries, !alert.notificationID.isEmpty {
          try transaction.execute(
            AlertReports.insertSQL,
            [.text(id), .text(alert.user), .text(alert.notificationID), .text(token.id), .integer(nowMs)])
        }
        try touch(token, nowMs: nowMs, transaction)
      }
      return ids
    }
  }
}
