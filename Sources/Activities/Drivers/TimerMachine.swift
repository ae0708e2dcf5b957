import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService

/// A timer: running, paused, over. Its start never moves; pauses are added up once each, when they end.
struct TimerMachine: Sendable, Hashable {
  enum Event: Sendable, Hashable {
    case pause, resume, stop, complete
    /// Its time is over, as far as the one who asks knows.
    case timeOver
  }

  /// How long a completed timer stays on the Lock Screen.
  static let completedShownMs: Int64 = 5 * 60_000
  static let completedType = "completed"
  static let sessionTypes: Set<String> = [
    "single", "multi", "quick", "freestyle", "rest", "countdown", "countup", "interval", completedType,
  ]
  /// Those that may run without an end.
  static let openTypes: Set<String> = ["freestyle", "countup"]

  private(set) var state: TimerState

  init(_ state: TimerState) { self.state = state }

  var isPaused: Bool { state.pausedAt != nil }
  private var startedMs: Int64 { state.startedAt?.millisecondsSince1970 ?? 0 }

  /// How long it has run at a time, without pauses.
  func elapsedMs(atMs: Int64) -> Int64 {
    let endMs = state.pausedAt?.millisecondsSince1970 ?? atMs
    return max(0, endMs - startedMs - state.totalPausedMs)
  }

  /// When its time is over; nil while it is paused and for one without an end.
  var endMs: Int64? {
    isPaused || state.durationMs == 0 ? nil : startedMs + state.durationMs + state.totalPausedMs
  }

  /// Throws FAILED_PRECONDITION, reason `TIMER_PAUSED` or `TIMER_RUNNING`, for what it is already.
  mutating func handle(_ event: Event, atMs: Int64) throws(RPCError) -> DriverAction {
    switch event {
    case .pause:
      guard !isPaused else { throw .precondition("activityId", "the timer is paused", .timerPaused) }
      // A clock that went back must not make a pause begin before the start.
      state.pausedAt = ProtoTimestamp(millisecondsSince1970: max(atMs, startedMs))
      return .update
    case .resume:
      guard isPaused else { throw .precondition("activityId", "the timer runs", .timerRunning) }
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

  /// The content-state that the app's widget decodes.
  func content(_ dates: ContentDates) -> String {
    var writer = ContentWriter(dates: dates)
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
