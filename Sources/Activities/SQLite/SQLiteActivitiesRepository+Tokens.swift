import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteActivitiesRepository: PushTokensRepository {
  /// Maximum lead of a device's clock over the server's. Later times are capped to it, so that one wrong clock cannot
  /// block all later tokens.
  static let clockSkewMs: Int64 = 60_000
  private static let touchMs: Int64 = 24 * 3_600_000

  func register(_ draft: TokenDraft, user: String) async throws -> (token: PushToken, isSuperseded: Bool) {
    try await write { transaction in
      let nowMs = clockMs()
      let timeMs = min(draft.timeMs ?? nowMs, nowMs + Self.clockSkewMs)
      var activity = draft.kind == .update ? try self.activity(of: draft, user: user, transaction) : nil
      let key: [SQLValue] = [
        .text(user), .integer(draft.kind.rawValue), .text(draft.app), .text(draft.subject),
        .text(draft.installationID), .integer(activity?.generation ?? 0),
      ]
      let known = try transaction.queryOne(TokenRow.placeSQL, key, TokenRow.row)
      if let known, known.timeMs > timeMs { return (known.message, true) }
      let others = try checkOwner(draft, user: user, except: known?.id, transaction)
      try checkCounts(known, activity, others.count, user: user, transaction)
      let installation = InstallationKey(user: user, app: draft.app, id: draft.installationID)
      // Read first, because the moved token may be the installation's only one.
      let values = try self.values(of: installation, transaction)
      if let found = activity { activity = try move(found, to: draft.environment, transaction) }
      for other in others { try remove(other, transaction) }
      let row = try place(
        draft, over: known, activity, values, user: user, timeMs: timeMs, nowMs: nowMs, transaction)
      try set(draft.values, of: installation, transaction)
      if activity != nil {
        let isNew = known?.token != draft.token || known?.state != .live
        // Read again: the activity may have lost a token that moved.
        try attach(row, isNew: isNew, to: find(draft.subject, user: user, transaction), draft, transaction)
      }
      return (try transaction.queryOne(TokenRow.oneSQL, [.text(row.id)], TokenRow.row)?.message ?? row.message, false)
    }
  }

  private func activity(
    of draft: TokenDraft, user: String, _ transaction: ReadTransaction
  ) throws -> StoredActivity {
    let activity = try find(draft.subject, user: user, transaction)
    var violations = Violations()
    if activity.app != draft.app { violations.add("app", "must be the activity's app", .appMismatch) }
    if activity.environment != draft.environment, try !canMove(activity, for: draft, transaction) {
      violations.add("environment", "must be the activity's environment, \(activity.environment)", .environmentMismatch)
    }
    try violations.check()
    return activity
  }

  /// Returns whether an activity may move to the environment of a token.
  ///
  /// An app may report its activity before it knows which build it is, and its environment only with the token.
  private func canMove(
    _ activity: StoredActivity, for draft: TokenDraft, _ transaction: ReadTransaction
  ) throws -> Bool {
    guard activity.isLive, activity.origin == .local, activity.channelID.isEmpty,
      policy.canSign(draft.app, draft.environment)
    else { return false }
    // Bounded by the devices of an activity.
    return try activity.tokenIDs.allSatisfy { id in
      try transaction.queryOne(TokenRow.oneSQL, [.text(id)], TokenRow.row)?.installationID == draft.installationID
    }
  }

  /// Moves an activity to another environment, with the pushes that wait for its token.
  private func move(
    _ old: StoredActivity, to environment: String, _ transaction: WriteTransaction
  ) throws -> StoredActivity {
    guard old.environment != environment else { return old }
    var activity = old
    activity.environment = environment
    try transaction.execute(
      ActivityRow.environmentSQL, [.text(activity.user), .text(activity.id), .text(environment)])
    for id in activity.tokenIDs {
      try queue.reroute(lane: PushLane.activity(id).text, to: activity.route, in: transaction)
    }
    return activity
  }

  /// Returns the user's other rows that contain this token.
  ///
  /// Channels have no owner and are skipped.
  ///
  /// - Throws: ALREADY_EXISTS, reason `TOKEN_TAKEN`, if another user has the token.
  private func checkOwner(
    _ draft: TokenDraft, user: String, except id: String?, _ transaction: ReadTransaction
  ) throws -> [TokenRow] {
    if draft.kind == .channel { return [] }
    let owners = try transaction.query(
      TokenRow.valueSQL, [.blob(draft.token), .text(draft.app)], TokenRow.row
    ).filter { $0.kind != .channel }
    guard owners.allSatisfy({ $0.user == user }) else {
      throw RPCError(
        .alreadyExists, "token: belongs to another user, who must delete it first",
        .tokenTaken,
        fieldViolations: [
          .init(field: "token", description: "belongs to another user", reason: Reason.tokenTaken.rawValue)
        ])
    }
    return owners.filter { $0.id != id }
  }

  private func checkCounts(
    _ known: TokenRow?, _ activity: StoredActivity?, _ freed: Int, user: String, _ transaction: ReadTransaction
  ) throws {
    guard known?.state != .live else { return }
    if let activity, activity.tokenIDs.count - freed >= limits.devicesPerActivityMax {
      throw RPCError.exhausted(
        "an activity can be shown on at most \(limits.devicesPerActivityMax) devices", .tokensExhausted,
        limit: limits.devicesPerActivityMax)
    }
    guard try counts(user: user, transaction).tokens - Int64(freed) < limits.tokensPerUserMax else {
      throw RPCError.exhausted(
        "a user can have at most \(limits.tokensPerUserMax) tokens", .tokensExhausted, limit: limits.tokensPerUserMax)
    }
  }

  private func place(
    _ draft: TokenDraft, over known: TokenRow?, _ activity: StoredActivity?, _ values: InstallationValues,
    user: String, timeMs: Int64, nowMs: Int64, _ transaction: WriteTransaction
  ) throws -> TokenRow {
    var row =
      known
      ?? TokenRow(
        id: ids.next(prefix: SortableID.tokenPrefix).id, user: user, kind: draft.kind, app: draft.app,
        environment: draft.environment, installationID: draft.installationID, subject: draft.subject,
        generation: activity?.generation ?? 0, token: draft.token, timeMs: timeMs, registeredMs: nowMs, usedMs: nowMs,
        state: .live, values: values)
    (row.environment, row.token, row.timeMs) = (draft.environment, draft.token, timeMs)
    // Never goes back, because rejection times are compared with it.
    row.registeredMs = max(nowMs, row.registeredMs)
    (row.usedMs, row.state, row.retiredMs, row.retireReason) = (nowMs, .live, nil, nil)
    if known == nil { try row.insert(transaction) } else { try row.update(transaction) }
    if known?.state != .live { try count(tokens: 1, user: user, transaction) }
    return row
  }

  /// Adds a token to its activity and pushes any state that the device cannot know yet.
  private func attach(
    _ row: TokenRow, isNew: Bool, to old: StoredActivity, _ draft: TokenDraft, _ transaction: WriteTransaction
  ) throws {
    let nowMs = clockMs()
    var activity = old
    var change = StateChange(traceParent: draft.traceParent)
    if !activity.isLive {
      // The activity ended before its token arrived: push the end.
      change.end = .init(reason: activity.endReason, dismissal: .immediate)
    } else if !isNew || activity.status == .scheduled {
      guard !activity.tokenIDs.contains(row.id) else { return }
    }
    if activity.isLive {
      if !activity.tokenIDs.contains(row.id) { activity.tokenIDs.append(row.id) }
      if activity.status == .starting { activity.status = .active }
    }
    let showsOther = activity.isLive && !activity.isAsStartedByApp && activity.isPushed
    let mustTell = isNew && activity.channelID.isEmpty && (!activity.isLive || showsOther)
    if mustTell {
      activity.apsTimestamp = PushClock.next(after: activity.apsTimestamp, nowMs: nowMs)
      var single = activity
      single.tokenIDs = [row.id]
      let kind: PushKind = activity.isLive ? .update : .end
      try queue.admit(kind, to: [.activity(row.id)], besides: 0, in: transaction)
      try stateWriter.push(payload(change, of: activity, nowMs: nowMs), kind, of: single, change, transaction)
    }
    try ActivityRow.writeLife(activity, transaction)
    guard activity.isLive else { return try release([row.id], user: row.user, nowMs: nowMs, transaction) }
    try transaction.log(.updated, activity, atMs: nowMs, notifier)
  }

  func update(_ installation: InstallationKey, _ values: InstallationValues) async throws -> Int {
    try await write { transaction in
      try set(values, of: installation, transaction)
      return try transaction.queryOne(TokenRow.liveCountSQL, Self.arguments(installation)) {
        Int(try $0.integer(0))
      } ?? 0
    }
  }

  private func values(of installation: InstallationKey, _ transaction: ReadTransaction) throws -> InstallationValues {
    try transaction.queryOne(TokenRow.valuesSQL, Self.arguments(installation)) { try TokenRow.values($0, 0) }
      ?? InstallationValues()
  }

  /// Sets the values of all tokens of an installation.
  private func set(
    _ values: InstallationValues, of installation: InstallationKey, _ transaction: WriteTransaction
  ) throws {
    guard !values.isEmpty else { return }
    try transaction.execute(
      TokenRow.setValuesSQL,
      Self.arguments(installation) + [
        .integer(values.osVersion?.number), values.hasFrequentPushes.map { .bool($0) } ?? .null,
      ])
  }

  private static func arguments(_ installation: InstallationKey) -> [SQLValue] {
    [.text(installation.user), .text(installation.app), .text(installation.id)]
  }

  func updateToken(ofActivity id: String, installationID: String, user: String) async throws -> String {
    try await read { transaction in
      let activity = try find(id, user: user, transaction)
      let tokens = try transaction.query(
        TokenRow.liveOfActivitySQL, [.text(user), .text(activity.app), .text(id)], TokenRow.row
      ).filter { installationID.isEmpty || $0.installationID == installationID }
      guard let newest = tokens.max(by: { $0.registeredMs < $1.registeredMs }) else {
        throw RPCError.missing("token of activity", id, field: "activityId", .tokenNotFound)
      }
      return Hexadecimal.text(newest.token)
    }
  }

  func token(_ id: String, user: String) async throws -> PushToken {
    try await readSingle { transaction in
      let row = try transaction.queryOne(TokenRow.oneSQL, [.text(id)], TokenRow.row)
      guard let row, row.user == user else { throw RPCError.tokenNotFound(id) }
      return row.message
    }
  }

  static let listTokensSQL = listTokens("")
  static let listLiveTokensSQL = listTokens(" AND state = 1")
  private static func listTokens(_ condition: String) -> String {
    """
    SELECT \(TokenRow.columns) FROM push_tokens WHERE user_id = $1 AND token_id > $2\(condition)
    ORDER BY token_id LIMIT $3
    """
  }

  func tokens(_ query: PositionQuery, includeRetired: Bool) async throws -> [PushToken] {
    try await readSingle { transaction in
      try transaction.query(
        includeRetired ? Self.listTokensSQL : Self.listLiveTokensSQL,
        [.text(query.user), .text(query.position.first ?? ""), .int(query.pageSize + 1)], TokenRow.row
      ).map(\.message)
    }
  }

  func deleteToken(_ id: String, user: String) async throws {
    try await write { transaction in
      let row = try transaction.queryOne(TokenRow.oneSQL, [.text(id)], TokenRow.row)
      guard let row, row.user == user else { return }
      try remove(row, transaction)
    }
  }

  // MARK: - For activities and alerts

  func liveTokens(
    _ kind: TokenKind, app: String?, user: String, _ transaction: ReadTransaction
  ) throws -> [TokenRow] {
    let arguments: [SQLValue] = [.text(user), .integer(kind.rawValue)]
    guard let app else { return try transaction.query(TokenRow.liveSQL, arguments, TokenRow.row) }
    return try transaction.query(TokenRow.liveOfAppSQL, arguments + [.text(app)], TokenRow.row)
  }

  /// Records the use of a token, at most once a day.
  func touch(_ token: TokenRow, nowMs: Int64, _ transaction: WriteTransaction) throws {
    guard nowMs - token.usedMs >= Self.touchMs else { return }
    try transaction.execute(TokenRow.useSQL, [.text(token.id), .integer(nowMs)])
  }

  /// Releases the update tokens of an ended activity. Pushes already queued for them are still sent.
  func releaseTokens(of activity: StoredActivity, nowMs: Int64, _ transaction: WriteTransaction) throws {
    try release(activity.tokenIDs, user: activity.user, nowMs: nowMs, transaction)
  }

  private func release(
    _ ids: [String], user: String, nowMs: Int64, _ transaction: WriteTransaction
  ) throws {
    var released: Int64 = 0
    for id in ids {
      released += Int64(
        try transaction.executeCounting(
          TokenRow.retireSQL,
          [.text(id), .integer(TokenState.ended.rawValue), .integer(nowMs), .text("ACTIVITY_ENDED")]))
    }
    if released > 0 { try count(tokens: -released, user: user, transaction) }
  }

  /// Deletes a token and removes it from its activity.
  private func remove(_ row: TokenRow, _ transaction: WriteTransaction) throws {
    try transaction.execute(TokenRow.deleteSQL, [.text(row.id)])
    guard row.state == .live else { return }
    try count(tokens: -1, user: row.user, transaction)
    try detach(row, transaction)
  }

  /// Removes a token from its activity.
  private func detach(_ row: TokenRow, _ transaction: WriteTransaction) throws {
    guard row.kind == .update else { return }
    let found = try transaction.queryOne(
      ActivityRow.oneSQL, [.text(row.user), .text(row.subject)], ActivityRow.activity)
    guard var activity = found, activity.tokenIDs.contains(row.id) else { return }
    activity.tokenIDs.removeAll { $0 == row.id }
    try transaction.execute(
      ActivityRow.tokensSQL,
      [.text(activity.user), .text(activity.id), .text(activity.tokenIDs.joined(separator: ","))])
    try transaction.log(.updated, activity, atMs: clockMs(), notifier)
  }
}

/// The interface that delivery uses.
extension SQLiteActivitiesRepository: PushTokenRegistry {
  func settle(_ transaction: WriteTransaction) throws { try stateWriter.settle(transaction) }

  func token(_ id: String, in transaction: ReadTransaction) throws -> DeliveryToken? {
    try transaction.queryOne(TokenRow.deliverySQL, [.text(id)]) { row in
      let digits = Hexadecimal.text(try row.bytes(1))
      guard try row.integer(0) != TokenState.retired.rawValue, let token = DeviceToken(digits) else { return nil }
      return DeliveryToken(
        token: token, registeredAtMs: try row.integer(2), hasFrequentPushes: try row.integerIfPresent(3) == 1)
    } ?? nil
  }

  func retire(
    _ id: String, token: DeviceToken?, reason: APNsReason, rejectedAtMs: Int64?, in transaction: WriteTransaction
  ) throws -> Bool {
    let found = try transaction.queryOne(TokenRow.oneSQL, [.text(id)], TokenRow.row)
    guard let row = found, row.state != .retired, token == nil || row.deviceToken == token else { return false }
    if let rejectedAtMs, row.registeredMs > rejectedAtMs { return false }
    try transaction.execute(
      TokenRow.retireSQL,
      [.text(id), .integer(TokenState.retired.rawValue), .integer(clockMs()), .text(reason.text)])
    if row.state == .live {
      try count(tokens: -1, user: row.user, transaction)
      try detach(row, transaction)
    }
    return true
  }
}
