import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// A timer's state: running, paused or over. Its start never moves; each pause is added to the total when it ends.
struct TimerMachine: Sendable, Hashable {
  enum Event: Sendable, Hashable {
    case pause, resume, stop, complete
    /// The time is over according to the caller; the machine checks it.
    case timeOver
  }

  /// Time that a completed timer stays on the Lock Screen.
  static let completedShownMs: Int64 = 5 * 60_000
  static let completedType = "completed"
  /// Session types that may run without an end.
  static let openTypes: Set<String> = ["freestyle", "countup"]

  private(set) var state: TimerState

  init(_ state: TimerState) { self.state = state }

  var isPaused: Bool { state.pausedAt != nil }
  private var startedMs: Int64 { state.startedAt?.millisecondsSince1970 ?? 0 }

  /// Returns the time run until `atMs`, without pauses.
  func elapsedMs(atMs: Int64) -> Int64 {
    let endMs = state.pausedAt?.millisecondsSince1970 ?? atMs
    return max(0, endMs - startedMs - state.totalPausedMs)
  }

  /// The end of the timer; nil while it is paused or if it has no end.
  var endMs: Int64? {
    isPaused || state.durationMs == 0 ? nil : startedMs + state.durationMs + state.totalPausedMs
  }

  /// Handles an event. Throws FAILED_PRECONDITION, reason `TIMER_PAUSED` or `TIMER_RUNNING`, if the timer is already in
  /// the requested state.
  mutating func handle(_ event: Event, atMs: Int64) throws(RPCError) -> DriverAction {
    switch event {
    case .pause:
      guard !isPaused else { throw .refused("activityId", "the timer is already paused", .timerPaused) }
      // If the clock was set back, a pause must not begin before the start.
      state.pausedAt = ProtoTimestamp(millisecondsSince1970: max(atMs, startedMs))
      return .update
    case .resume:
      guard isPaused else { throw .refused("activityId", "the timer is already running", .timerRunning) }
      closePause(atMs: atMs)
      return .update
    case .stop:
      closePause(atMs: atMs)
      return .end(.requested, .immediate)
    case .complete:
      closePause(atMs: atMs)
      state.sessionType = Self.completedType
      return .end(.completed, .at(atMs + Self.completedShownMs))
    case .timeOver:
      guard let endMs, endMs <= atMs else { return .keep }
      state.sessionType = Self.completedType
      return .end(.completed, .at(atMs + Self.completedShownMs))
    }
  }

  private mutating func closePause(atMs: Int64) {
    guard let pausedMs = state.pausedAt?.millisecondsSince1970 else { return }
    state.totalPausedMs += max(0, atMs - pausedMs)
    state.pausedAt = nil
  }

  /// Encodes the content-state that the app's widget decodes.
  func content(_ dates: ContentDates) -> String {
    var writer = ContentStateWriter(dates: dates)
    let object = writer.beginObject()
    writer.date(",\"startedAt\":", ms: startedMs)
    if let paused = state.pausedAt { writer.date(",\"pausedAt\":", ms: paused.millisecondsSince1970) }
    writer.seconds(",\"duration\":", ms: state.durationMs)
    writer.text(",\"methodName\":", state.methodName)
    writer.text(",\"sessionType\":", state.sessionType)
    writer.seconds(",\"totalPausedDuration\":", ms: state.totalPausedMs)
    writer.endObject(object)
    return writer.json()
  }
}
