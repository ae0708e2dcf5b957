import CampanileAPI
import CampanileCodec

/// Descriptions of states for accessibility: the member `spokenText`, in English like the states' other texts.
///
/// A text names no time that runs, so that it stays true until the next push.
enum SpokenText {
  /// Code points of a title that are spoken.
  static let titleMax = 100

  static func room(_ phase: RoomPhase) -> String {
    phase == .connected ? "A peer is connected to the room" : "Waiting for a peer in the room"
  }

  static func timer(_ machine: TimerMachine) -> String {
    let state = machine.state
    let name = state.methodName.isEmpty ? "Timer" : state.methodName
    if machine.isCompleted { return "\(name), completed" }
    let length = state.duration.map { " of \(duration(ms: $0.milliseconds))" } ?? ""
    let kind = (state.sessionType.contentName ?? "session") + length
    guard let pauseTime = state.pauseTime else { return "\(name), \(kind), running" }
    let elapsedMs = machine.elapsedMs(atMs: pauseTime.millisecondsSince1970)
    return "\(name), \(kind), paused after \(duration(ms: elapsedMs))"
  }

  static func unread(_ count: Int32, newest: UnreadItem?) -> String {
    guard count > 0 else { return "No unread notifications" }
    let text = count == 1 ? "1 unread notification" : "\(count) unread notifications"
    guard let title = newest?.title, !title.isEmpty else { return text }
    let spoken = String(String.UnicodeScalarView(title.unicodeScalars.prefix(titleMax)))
    return count == 1 ? "\(text): \(spoken)" : "\(text). Newest: \(spoken)"
  }

  /// Returns a duration in words, such as `1 hour 2 minutes`; without seconds from an hour on.
  static func duration(ms: Int64) -> String {
    let seconds = max(0, ms) / 1_000
    let units = [
      (seconds / 3_600, "hour"), (seconds / 60 % 60, "minute"), (seconds < 3_600 ? seconds % 60 : 0, "second"),
    ]
    let parts = units.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")" }
    return parts.isEmpty ? "0 seconds" : parts.joined(separator: " ")
  }
}
