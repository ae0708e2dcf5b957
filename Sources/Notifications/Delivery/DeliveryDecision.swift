import CampanileAPI

/// Whether devices are told of a notification now, later or not at all. Pure.
enum DeliveryDecision: Sendable, Hashable {
  case send
  case hold(untilMs: Int64, DeliveryOutcome)
  case suppress(DeliveryOutcome)

  /// Snoozes and quiet hours may follow one another: the first decides the outcome that is told, the last the time.
  ///
  /// - Parameter quietReleaseMs: the end of the quiet time at an instant, nil when it is in none.
  static func decide(
    priority: Notification.Priority, isMuted: Bool, snoozedUntilMs: Int64?, nowMs: Int64,
    quietReleaseMs: (Int64) -> Int64?
  ) -> DeliveryDecision {
    if priority == .noPush { return .suppress(.noPush) }
    if priority == .critical { return .send }
    if isMuted { return .suppress(.muted) }
    var releaseMs = nowMs
    var outcome: DeliveryOutcome?
    // A snooze and the quiet time that it may end in, and no more: each step moves the time forward past its cause.
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
