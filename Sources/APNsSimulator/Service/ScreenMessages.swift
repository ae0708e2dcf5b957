import APNs
import CampanileAPI
import CampanileCodec

/// A copy of a screen's state at a moment, from which a message is made without the lock.
struct ScreenView: Sendable {
  /// Maximum time for which an ended activity remains on the Lock Screen ("Starting and updating Live Activities with
  /// ActivityKit push notifications").
  static let dismissalMsMax: Int64 = 4 * 3_600_000

  var key: String
  var screen: Screen
  /// Nil for a channel, or a token that is not tracked.
  var record: DeviceRecord?
  var newest: ShownState?
  /// Nil for a channel.
  var device: String?
  var isConnected: Bool
  var updatesPerHourMax: Int
  var nowMs: Int64

  /// The screen with its newest state.
  var message: SimulatedScreen {
    let channelID = ScreenID.channelID(key: key)
    let discardCounts: [String: Int64] = Dictionary(
      screen.discards.map { ($0.key.rawValue, Int64($0.value)) }
    ) { $1 }
    var message = SimulatedScreen(
      id: ScreenID.text(key: key), app: screen.bundleID, connected: isConnected, status: status, state: newestState,
      stateCount: Int64(screen.stateCount), startCount: Int64(screen.starts), updateCount: Int64(screen.updates),
      endCount: Int64(screen.ends), alertCount: Int64(screen.alerts), backgroundCount: Int64(screen.backgrounds),
      reloadCount: Int64(screen.reloads), highPriorityCount: Int64(screen.highPriority), discardCounts: discardCounts,
      updateTime: ProtoTimestamp(millisecondsSince1970: screen.updatedAtMs))
    message.kind = channelID == nil ? screen.kind.message : .channel
    message.environment = (record?.environment ?? .any).rawValue
    message.device = device ?? ""
    message.channelId = channelID ?? screen.channelID ?? ""
    message.attributesType = screen.attributesType ?? ""
    message.attributesJson = screen.attributes ?? ""
    if updatesPerHourMax > 0 {
      message.budget = ScreenBudget(
        usedCount: Int32(clamping: screen.budget.used(nowMs: nowMs)), limitCount: Int32(clamping: updatesPerHourMax))
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

  private var status: ScreenStatus {
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

  /// The newest state. Its payload may no longer be retained; the screen itself has the rest.
  private var newestState: ScreenState? {
    if let newest { return newest.message }
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

extension Simulator.State {
  /// Returns a screen as it is now; nil if there is none with this key.
  func view(_ key: String, nowMs: Int64) -> ScreenView? {
    guard let screen = screens[key] else { return nil }
    let device = ScreenID.channelID(key: key) == nil ? device(ofToken: key) : nil
    return ScreenView(
      key: key, screen: screen, record: devices[key], newest: histories.newest(key), device: device,
      isConnected: device.map { !offlineDevices.contains($0) } ?? true, updatesPerHourMax: limits.updatesPerHourMax,
      nowMs: nowMs)
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
        millisecondsSince1970: ScreenView.dismissalMs(content.dismissalDateSeconds, endedAtMs: shownAtMs))
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
