import APNs
import CampanileService

extension Simulator.State {
  mutating func handle(
    _ request: ReceivedPush, connection: inout ConnectionUse, nowMs: Int64, newID: String
  ) -> Outcome {
    statistics.requests += 1
    let context = context(of: request, connection: connection, nowMs: nowMs)
    let (delayMs, fault) = faults.next(context)
    let given = Answer.idHeader(request.path) == APNsHeader.id ? request.fields.id : request.fields.requestID
    let id = given.flatMap { PushRules.isCanonicalUUID($0) ? $0.lowercased() : nil } ?? newID
    var discard: Discard?
    let action: Outcome.Action
    switch fault {
    case .answer(let refusal):
      // The sender will sign a new token immediately, which must not count as a too frequent renewal.
      if refusal.reason == .expiredProviderToken { forgetIssue(&connection) }
      action = .answer(Answer(status: refusal.reason.status, id: id, refusal: refusal))
    case .reset(false): action = .reset(isProcessed: false)
    case .close(false): action = .close
    case .stall(false): action = .nothing
    default:
      let answer = process(context, request, id: id, connection: &connection, discard: &discard)
      switch fault {
      case .goAway: action = .answerAndGoAway(answer)
      case .reset: action = .reset(isProcessed: true)
      case .close: action = .close
      case .stall: action = .nothing
      default: action = .answer(answer)
      }
    }
    record(context, id: id, connection: connection.number, action: action, fault: fault, discard: discard)
    return Outcome(action: action, delayMs: delayMs)
  }

  private mutating func forgetIssue(_ connection: inout ConnectionUse) {
    if let keyID = connection.issue?.keyID { keyring.forgetIssue(ofKey: keyID) }
    connection.issue = nil
  }

  private mutating func context(of request: ReceivedPush, connection: ConnectionUse, nowMs: Int64) -> PushContext {
    let provider = keyring.judge(request.fields.authorization)
    var device: DeviceRecord?
    var channel: ChannelRecord?
    var screenKey: String?
    switch try? PushRules.address(method: request.method, path: request.path) {
    case .device(let token):
      screenKey = token.hexadecimal
      device = devices[token.hexadecimal]
    case .broadcast(let bundleID):
      screenKey = request.fields.channelID.map(Self.channelKey)
      channel = self.channel(request.fields.channelID, of: bundleID)
    case .channels(let bundleID, _): channel = self.channel(request.fields.channelID, of: bundleID)
    case .allChannels, nil: break
    }
    var lastIssue = connection.issue
    if limits.tokenRenewalScope == .key, case .verified(_, let key) = provider {
      lastIssue = keyring.lastIssue(ofKey: key.keyID)
    }
    return PushContext(
      method: request.method, path: request.path, screenKey: screenKey, fields: request.fields,
      bodyBytes: request.bodyBytes, provider: provider, connectionIssue: connection.issue, lastIssue: lastIssue,
      device: device, channel: channel, nowMs: nowMs)
  }

  private func channel(_ id: String?, of bundleID: String) -> ChannelRecord? {
    id.flatMap { channels[$0] }.flatMap { $0.bundleID == bundleID ? $0 : nil }
  }

  private mutating func process(
    _ context: PushContext, _ request: ReceivedPush, id: String, connection: inout ConnectionUse,
    discard: inout Discard?
  ) -> Answer {
    switch PushRules.judge(context, limits: limits) {
    case .failure(let refusal):
      return Answer(status: refusal.reason.status, id: id, refusal: refusal)
    case .success(let push):
      if case .verified(let token, _) = context.provider {
        let issue = ProviderIssue(
          keyID: token.keyID, teamID: token.teamID, issuedAtSeconds: token.issuedAtSeconds, seenAtMs: context.nowMs)
        if connection.issue?.issuedAtSeconds != token.issuedAtSeconds { connection.issue = issue }
        keyring.use(issue)
      }
      switch push.address {
      case .device, .broadcast:
        discard = show(push, request.body, id: id, nowMs: context.nowMs)
        return Answer(status: 200, id: id)
      case .channels, .allChannels:
        return manageChannels(push.address, request, context, id: id)
      }
    }
  }

  /// Displays a push on its device or channel. Returns the cause if the device ignores it.
  mutating func show(_ push: AcceptedPush, _ payload: [UInt8], id: String, nowMs: Int64) -> Discard? {
    let key: String
    let kind: DeviceRecord.Kind
    if case .device(let token) = push.address {
      key = token.hexadecimal
      if let known = devices[key] {
        kind = known.kind
      } else {
        kind = .first(push.topic.pushType)
        if devices.count < limits.screensMax {
          devices[key] = DeviceRecord(bundleID: push.topic.bundleID, kind: kind, registeredAtMs: nowMs)
        }
      }
      let device = device(ofToken: key)
      if offlineDevices.contains(device) { return store(push, payload, id: id, device: device, nowMs: nowMs) }
    } else {
      key = Self.channelKey(push.channelID ?? "")
      kind = .activity
    }
    journal?.append(push: push, key: key, kind: kind, payload: payload, id: id, nowMs: nowMs)
    return display(push, key: key, kind: kind, payload, id: id, nowMs: nowMs)
  }

  /// Displays a push without writing the journal; also used to read a journal back.
  mutating func display(
    _ push: AcceptedPush, key: String, kind: DeviceRecord.Kind, _ payload: [UInt8], id: String, nowMs: Int64
  ) -> Discard? {
    guard screens[key] != nil || screens.count < limits.screensMax else {
      statistics.untracked += 1
      return nil
    }
    let (channels, bundleID) = (channels, push.topic.bundleID)
    let surroundings = Screen.Surroundings(limits: limits) { channels[$0]?.bundleID == bundleID }
    let before = screens[key]?.stateCount ?? 0
    let discard = screens[key, default: Screen(bundleID: bundleID, kind: kind)]
      .show(payload, push: push, id: id, nowMs: nowMs, surroundings)
    if let screen = screens[key], screen.stateCount > before { remember(screen, push, payload, key: key) }
    screenLog.append(key)
    return discard
  }

  private mutating func remember(_ screen: Screen, _ push: AcceptedPush, _ payload: [UInt8], key: String) {
    let isLive = push.topic.pushType == .liveactivity
    histories.append(
      ShownState(
        number: Int64(screen.stateCount), shownAtMs: screen.updatedAtMs, id: screen.lastID, priority: push.priority,
        isLive: isLive, payload: payload, keptContentState: isLive && screen.event == .end ? screen.contentState : nil),
      key)
  }

  static func channelKey(_ id: String) -> String { "channel/\(id)" }

  private mutating func record(
    _ context: PushContext, id: String, connection: Int, action: Outcome.Action, fault: FaultAction?, discard: Discard?
  ) {
    var push = LoggedPush(
      sequence: 0, receivedAtMs: context.nowMs, connection: connection, path: context.path, topic: context.fields.topic,
      pushType: context.fields.pushType, priority: context.fields.priority, expiration: context.fields.expiration,
      collapseID: context.fields.collapseID, id: id, bodyBytes: context.bodyBytes, status: 0)
    push.screenKey = context.screenKey
    push.fault = fault?.name
    push.discard = discard
    if let discard { statistics.discards[discard, default: 0] += 1 }
    switch action {
    case .answer(let answer), .answerAndGoAway(let answer):
      push.status = answer.status
      push.reason = answer.refusal?.reason.text
      push.detail = answer.refusal?.detail
      let label = answer.refusal.map { "\($0.reason.status) \($0.reason.text)" } ?? "\(answer.status)"
      statistics.answers[label, default: 0] += 1
      if case .answerAndGoAway = action { statistics.goAways += 1 }
    case .reset: statistics.resets += 1
    case .close: statistics.closes += 1
    case .nothing: statistics.stalls += 1
    }
    log.append(push)
  }
}
