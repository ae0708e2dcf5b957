import CampanileAPI

/// The decision to notify devices now, later or not at all. Pure.
enum DeliveryDecision: Sendable, Hashable {
  case send
  case hold(untilMs: Int64, DeliveryOutcome)
  case suppress(DeliveryOutcome)

  /// Decides about one notification. If snoozes and quiet hours follow one another, the first provides the outcome and
  /// the last the time.
  ///
  /// - Parameter quietReleaseMs: Returns the end of the quiet period at an instant, or nil if there is none.
  static func decide(
    priority: Notification.Priority, isMuted: Bool, snoozedUntilMs: Int64?, nowMs: Int64,
    quietReleaseMs: (Int64) -> Int64?
  ) -> DeliveryDecision {
    if priority == .noPush { return .suppress(.noPush) }
    if priority == .critical { return .send }
    if isMuted { return .suppress(.muted) }
    var releaseMs = nowMs
    var outcome: DeliveryOutcome?
    // At most a snooze and the adjacent quiet periods: each step moves the time past its cause.
    for _ in 0..<4 {
      if let snoozedUntilMs, snoozedUntilMs > releaseMs {
        releaseMs = snoozedUntilMs
        outcome = outcome ?? .heldBySnooze
      } else if let endMs = quietReleaseMs(releaseMs), endMs > releaseMs {
        releaseMs = endMs
        outcome = outcome ?? .heldByQuietHours
      } else {
        break
      }
    }
    guard let outcome else { return .send }
    return .hold(untilMs: releaseMs, outcome)
  }

  var state: DeliveryState {
    switch self {
    case .send: .sent
    case .hold: .held
    case .suppress: .suppressed
    }
  }
}
