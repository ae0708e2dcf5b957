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
  /// The session type in the content-state of a completed timer.
  static let completedType = "completed"

  private(set) var state: TimerState
  /// Whether an event has completed the timer, which only its last content-state shows.
  private(set) var isCompleted = false

  init(_ state: TimerState) { self.state = state }

  var isPaused: Bool { state.pauseTime != nil }
  private var startedMs: Int64 { state.startTime?.millisecondsSince1970 ?? 0 }
  private var totalPausedMs: Int64 { state.totalPaused?.milliseconds ?? 0 }

  /// Returns the time run until `atMs`, without pauses.
  func elapsedMs(atMs: Int64) -> Int64 {
    let endMs = state.pauseTime?.millisecondsSince1970 ?? atMs
    return max(0, endMs - startedMs - totalPausedMs)
  }

  /// The end of the timer; nil while it is paused or if it has no end.
  var endMs: Int64? {
    guard !isPaused, let duration = state.duration else { return nil }
    return startedMs + duration.milliseconds + totalPausedMs
  }

  /// Handles an event. Throws FAILED_PRECONDITION, reason `TIMER_PAUSED` or `TIMER_RUNNING`, if the timer is already in
  /// the requested state.
  mutating func handle(_ event: Event, atMs: Int64) throws(RPCError) -> DriverAction {
    switch event {
    case .pause:
      guard !isPaused else { throw .refused("activityId", "the timer is already paused", .timerPaused) }
      // If the clock was set back, a pause must not begin before the start.
      state.pauseTime = ProtoTimestamp(millisecondsSince1970: max(atMs, startedMs))
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
      isCompleted = true
      return .end(.completed, .at(atMs + Self.completedShownMs))
    case .timeOver:
      guard let endMs, endMs <= atMs else { return .keep }
      isCompleted = true
      return .end(.completed, .at(atMs + Self.completedShownMs))
    }
  }

  private mutating func closePause(atMs: Int64) {
    guard let pausedMs = state.pauseTime?.millisecondsSince1970 else { return }
    state.totalPaused = ProtoDuration(milliseconds: totalPausedMs + max(0, atMs - pausedMs))
    state.pauseTime = nil
  }

  /// Encodes the content-state that the app's widget decodes. Its newer versions read `protocolName` in place of
  /// `methodName`.
  func content(_ dates: ContentDates) -> String {
    var writer = ContentStateWriter(dates: dates)
    let object = writer.beginObject()
    writer.date(",\"startedAt\":", ms: startedMs)
    if let paused = state.pauseTime { writer.date(",\"pausedAt\":", ms: paused.millisecondsSince1970) }
    writer.bool(",\"isPaused\":", isPaused)
    writer.seconds(",\"duration\":", ms: state.duration?.milliseconds ?? 0)
    writer.text(",\"methodName\":", state.methodName)
    writer.text(",\"protocolName\":", state.methodName)
    writer.text(",\"sessionType\":", isCompleted ? Self.completedType : state.sessionType.contentName ?? "")
    writer.seconds(",\"totalPausedDuration\":", ms: totalPausedMs)
    writer.text(",\"spokenText\":", SpokenText.timer(self))
    writer.url(state.url)
    writer.endObject(object)
    return writer.json()
  }
}

extension TimerSessionType {
  /// The name in the content-state; nil for a type that this version does not know.
  var contentName: String? {
    switch self {
    case .single: "single"
    case .multi: "multi"
    case .quick: "quick"
    case .freestyle: "freestyle"
    case .rest: "rest"
    case .countdown: "countdown"
    case .countup: "countup"
    case .interval: "interval"
    case .unspecified, .unrecognized: nil
    }
  }

  /// Whether a timer of this type may have no end.
  var mayBeOpen: Bool { self == .freestyle || self == .countup }
}
