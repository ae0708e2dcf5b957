import CampanileClient
public import Foundation

/// The state of an activity that shows a timer, as Activities pushes it.
public struct TimerContentState: Codable, Hashable, Sendable {
  public var startedAt: Date
  /// The beginning of the current pause; `nil` while the timer runs.
  public var pausedAt: Date?
  /// The seconds that the timer runs without pauses; 0 if it has no end.
  public var duration: TimeInterval
  public var methodName: String
  public var sessionType: TimerSession
  /// The seconds of all pauses that have ended.
  public var totalPausedDuration: TimeInterval

  public init(
    startedAt: Date, pausedAt: Date? = nil, duration: TimeInterval, methodName: String, sessionType: TimerSession,
    totalPausedDuration: TimeInterval = 0
  ) {
    self.startedAt = startedAt
    self.pausedAt = pausedAt
    self.duration = duration
    self.methodName = methodName
    self.sessionType = sessionType
    self.totalPausedDuration = totalPausedDuration
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    startedAt = try container.pushedDate(forKey: .startedAt)
    pausedAt = try container.pushedDateIfPresent(forKey: .pausedAt)
    duration = try container.decodeIfPresent(TimeInterval.self, forKey: .duration) ?? 0
    methodName = try container.decodeIfPresent(String.self, forKey: .methodName) ?? ""
    sessionType = try container.decodeIfPresent(TimerSession.self, forKey: .sessionType) ?? .single
    totalPausedDuration = try container.decodeIfPresent(TimeInterval.self, forKey: .totalPausedDuration) ?? 0
  }

  /// Creates the state that Activities pushes for a timer.
  public init(_ timer: TimerState) {
    startedAt = timer.startTime?.date ?? Date(timeIntervalSince1970: 0)
    pausedAt = timer.pauseTime?.date
    duration = timer.duration?.timeInterval ?? 0
    methodName = timer.methodName
    sessionType = TimerSession(timer.sessionType)
    totalPausedDuration = timer.totalPaused?.timeInterval ?? 0
  }
}

extension TimerContentState {
  public var isPaused: Bool { pausedAt != nil }
  public var isCompleted: Bool { sessionType == .completed }
  /// Whether the timer counts up without an end.
  public var isOpen: Bool { duration <= 0 }

  /// Returns the seconds that the timer has run until `date`, without pauses.
  public func elapsed(at date: Date) -> TimeInterval {
    let end = min(pausedAt ?? date, endDate ?? .distantFuture)
    return max(0, end.timeIntervalSince(startedAt) - totalPausedDuration)
  }

  /// Returns the seconds until the end; 0 after it, `nil` if the timer has no end.
  public func remaining(at date: Date) -> TimeInterval? {
    isOpen ? nil : max(0, duration - elapsed(at: date))
  }

  /// The time at which the timer ends; `nil` while it is paused, or if it has no end.
  public var endDate: Date? {
    isPaused || isOpen ? nil : startedAt.addingTimeInterval(duration + totalPausedDuration)
  }

  /// Returns the part of the duration that has passed, from 0 to 1; `nil` if the timer has no end.
  public func progress(at date: Date) -> Double? {
    isOpen ? nil : min(1, elapsed(at: date) / duration)
  }

  /// The interval for `Text(timerInterval:pauseTime:)` and `ProgressView(timerInterval:)`, which count by themselves.
  /// It begins when the timer would have started without pauses.
  public var interval: ClosedRange<Date> {
    let start = startedAt.addingTimeInterval(totalPausedDuration)
    return start...(isOpen ? .distantFuture : start.addingTimeInterval(duration))
  }

  /// Returns the state after a pause that begins at `date`; unchanged if the timer is paused.
  public func paused(at date: Date) -> TimerContentState {
    guard !isPaused else { return self }
    var state = self
    state.pausedAt = max(date, startedAt)
    return state
  }

  /// Returns the state after the pause ends at `date`; unchanged if the timer runs.
  public func resumed(at date: Date) -> TimerContentState {
    guard let pausedAt else { return self }
    var state = self
    state.totalPausedDuration += max(0, date.timeIntervalSince(pausedAt))
    state.pausedAt = nil
    return state
  }
}

/// The kind of session that a timer measures.
public struct TimerSession: RawRepresentable, Codable, Hashable, Sendable {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  /// Creates the session of a message; the raw value is empty for one that this version does not know.
  public init(_ type: TimerSessionType) {
    let name = type.protoName.map { "\($0)".replacing("TIMER_SESSION_TYPE_", with: "").lowercased() } ?? ""
    self.init(rawValue: name == "unspecified" ? "" : name)
  }

  public static let single = TimerSession(rawValue: "single")
  public static let multi = TimerSession(rawValue: "multi")
  public static let quick = TimerSession(rawValue: "quick")
  public static let freestyle = TimerSession(rawValue: "freestyle")
  public static let rest = TimerSession(rawValue: "rest")
  public static let countdown = TimerSession(rawValue: "countdown")
  public static let countup = TimerSession(rawValue: "countup")
  public static let interval = TimerSession(rawValue: "interval")
  /// The last state of a timer that has completed.
  public static let completed = TimerSession(rawValue: "completed")
}
