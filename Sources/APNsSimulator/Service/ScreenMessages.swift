import APNs
import CampanileAPI
import CampanileCodec

extension Simulator.State {
  /// Maximum time for which an ended activity remains on the Lock Screen ("Starting and updating Live Activities with
  /// ActivityKit push notifications").
  static let dismissalMsMax: Int64 = 4 * 3_600_000

  /// Returns a screen with its newest state; nil if there is none with this key.
  func message(_ key: String, nowMs: Int64) -> SimulatedScreen? {
    guard let screen = screens[key] else { return nil }
    let record = devices[key]
    let channelID = ScreenID.channelID(key: key)
    var message = SimulatedScreen(
      id: ScreenID.text(key: key), kind: channelID == nil ? screen.kind.message : .channel, app: screen.bundleID,
      environment: (record?.environment ?? .any).rawValue, channelId: channelID ?? screen.channelID ?? "",
      connected: true, status: status(screen, nowMs: nowMs), state: newestState(screen, key),
      stateCount: Int64(screen.stateCount), attributesType: screen.attributesType ?? "",
      attributesJson: screen.attributes ?? "", startCount: Int64(screen.starts), updateCount: Int64(screen.updates),
      endCount: Int64(screen.ends), alertCount: Int64(screen.alerts), backgroundCount: Int64(screen.backgrounds),
      reloadCount: Int64(screen.reloads), highPriorityCount: Int64(screen.highPriority),
      discardCounts: Dictionary(screen.discards.map { ($0.key.rawValue, Int64($0.value)) }) { $1 },
      updateTime: ProtoTimestamp(millisecondsSince1970: screen.updatedAtMs))
    if channelID == nil {
      message.device = device(ofToken: key)
      message.connected = !offlineDevices.contains(message.device)
    }
    if limits.updatesPerHourMax > 0 {
      message.budget = ScreenBudget(
        usedCount: Int32(clamping: screen.budget.used(nowMs: nowMs)),
        limitCount: Int32(clamping: limits.updatesPerHourMax))
    }
    message.lastDiscard = screen.lastDiscard.map {
      ScreenDiscard(
        reason: $0.reason.rawValue, apnsId: $0.id, discardTime: ProtoTimestamp(millisecondsSince1970: $0.atMs))
    }
    message.invalidation = record?.rejection.map {
      ScreenInvalidation(
        reason: $0.reason.text, invalidationTime: ProtoTimestamp(millisecondsSince1970: $0.timestampMs))
    }
    return message
  }

  /// Returns the retained states of a screen, oldest first.
  func stateMessages(_ key: String) -> [ScreenState] { histories.states(key).map(\.message) }

  private func status(_ screen: Screen, nowMs: Int64) -> ScreenStatus {
    guard screen.event != nil else { return .noActivity }
    if screen.event == .end {
      let ends = Self.dismissalMs(screen.dismissalDateSeconds, endedAtMs: screen.endedAtMs ?? screen.updatedAtMs)
      return nowMs >= ends ? .dismissed : .ended
    }
    return screen.staleDateSeconds.map { nowMs / 1_000 >= $0 } == true ? .stale : .started
  }

  static func dismissalMs(_ seconds: Int64?, endedAtMs: Int64) -> Int64 {
    let latest = endedAtMs + dismissalMsMax
    guard let seconds, seconds < latest / 1_000 else { return latest }
    return max(0, seconds) * 1_000
  }

  /// Returns the newest state. Its payload may no longer be retained; the screen itself has the rest.
  private func newestState(_ screen: Screen, _ key: String) -> ScreenState? {
    if let newest = histories.newest(key) { return newest.message }
    guard screen.stateCount > 0 else { return nil }
    var state = ScreenState(
      number: Int64(screen.stateCount), showTime: ProtoTimestamp(millisecondsSince1970: screen.updatedAtMs),
      apnsId: screen.lastID, event: screen.event?.message ?? .alert, contentStateJson: screen.contentState ?? "",
      contentTime: screen.timestampSeconds.map { ProtoTimestamp(seconds: $0) },
      staleTime: screen.staleDateSeconds.map { ProtoTimestamp(seconds: $0) }, relevanceScore: screen.relevanceScore)
    if screen.event == .end {
      state.dismissalTime = ProtoTimestamp(
        millisecondsSince1970: Self.dismissalMs(
          screen.dismissalDateSeconds, endedAtMs: screen.endedAtMs ?? screen.updatedAtMs))
    }
    return state
  }
}

extension ShownState {
  var message: ScreenState {
    let alert = AlertContent(payload)
    var state = ScreenState(
      number: number, showTime: ProtoTimestamp(millisecondsSince1970: shownAtMs), apnsId: id, event: .alert,
      badge: alert.badge, priority: Int32(clamping: priority), payloadJson: String(decoding: payload, as: UTF8.self))
    if alert.isAlerting {
      state.alert = ScreenAlert(
        title: alert.title, subtitle: alert.subtitle, body: alert.body, sound: alert.sound, category: alert.category,
        threadId: alert.threadID, interruptionLevel: alert.interruptionLevel)
    }
    guard isLive, let content = try? PushContent(payload) else { return state }
    state.event = content.event?.message ?? .unspecified
    state.contentStateJson = content.contentState ?? keptContentState ?? ""
    state.contentTime = content.timestampSeconds.map { ProtoTimestamp(seconds: $0) }
    state.staleTime = content.staleDateSeconds.map { ProtoTimestamp(seconds: $0) }
    state.relevanceScore = content.relevanceScore
    if content.event == .end {
      state.dismissalTime = ProtoTimestamp(
        millisecondsSince1970: Simulator.State.dismissalMs(content.dismissalDateSeconds, endedAtMs: shownAtMs))
    }
    return state
  }
}

extension LiveActivityEvent {
  var message: ScreenEvent {
    switch self {
    case .start: .start
    case .update: .update
    case .end: .end
    }
  }
}

extension DeviceRecord.Kind {
  var message: ScreenKind {
    switch self {
    case .device: .device
    case .activity: .activity
    case .start: .start
    case .live: .live
    case .widgets: .widgets
    case .control: .control
    }
  }
}

extension LoggedPush {
  var message: SimulatedPush {
    SimulatedPush(
      apnsId: id, receiveTime: ProtoTimestamp(millisecondsSince1970: receivedAtMs),
      screenId: screenKey.map { ScreenID.text(key: $0) } ?? "", path: path, topic: topic ?? "",
      pushType: pushType ?? "", priority: priority ?? "", expiration: expiration ?? "", collapseId: collapseID ?? "",
      sizeBytes: Int32(clamping: bodyBytes), httpStatus: Int32(clamping: status), reason: reason ?? "",
      detail: detail ?? "", fault: fault ?? "", discardReason: discard?.rawValue ?? "",
      connectionNumber: Int32(clamping: connection))
  }
}
