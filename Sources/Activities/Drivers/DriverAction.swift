import CampanileAPI

/// The result of a driver's event. A driver is a pure state machine: it does no I/O and has no clock.
enum DriverAction: Sendable, Hashable {
  /// Nothing has changed.
  case keep
  case update
  case end(EndReason, Dismissal)
}

/// The time that an ended activity stays on the Lock Screen.
enum Dismissal: Sendable, Hashable {
  /// Chosen by the system: up to 4 h.
  case automatic
  case immediate
  /// Milliseconds since 1970, at most 4 h after the end.
  case at(Int64)

  /// Returns `dismissal-date` for an end at `endMs`. A date in the past removes the activity immediately.
  func seconds(endMs: Int64) -> Int64? {
    switch self {
    case .automatic: nil
    case .immediate: endMs / 1_000 - 1
    case .at(let ms): ms / 1_000
    }
  }
}

/// The source of an activity's state, if it is not its caller.
enum ActivityDriver: Sendable, Hashable {
  case timer(TimerState)
  case room(RoomState)
  case unread(UnreadState)

  /// The kind of driver. Raw values are stored in the database; never reuse one.
  enum Kind: Int64, Sendable {
    case timer = 1
    case room = 2
    case unread = 3
  }

  var kind: Kind {
    switch self {
    case .timer: .timer
    case .room: .room
    case .unread: .unread
    }
  }

  /// The key of the driver among the activities of a user and an app.
  var subject: String {
    if case .room(let state) = self { return state.roomId }
    return ""
  }
}
