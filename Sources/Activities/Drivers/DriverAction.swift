import CampanileAPI

/// What follows from an event of a driver, which is a pure state machine: it does no I/O and knows no clock.
enum DriverAction: Sendable, Hashable {
  /// Nothing has changed.
  case keep
  case update
  case end(EndReason, Dismissal)
}

/// How long an ended activity stays on the Lock Screen.
enum Dismissal: Sendable, Hashable {
  /// As the system sees fit: up to 4 h.
  case automatic
  case immediate
  /// Milliseconds since 1970, at most 4 h after the end.
  case at(Int64)

  /// `dismissal-date` for an end now; a date in the past takes the activity away at once.
  func seconds(endMs: Int64) -> Int64? {
    switch self {
    case .automatic: nil
    case .immediate: endMs / 1_000 - 1
    case .at(let ms): ms / 1_000
    }
  }
}

/// What drives an activity's state instead of its caller.
enum ActivityDriver: Sendable, Hashable {
  case timer(TimerState)
  case room(RoomState)
  case unread(UnreadState)

  /// The numbers are in the database: never reuse one.
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

  /// What it is found by among the activities of a user and an app.
  var subject: String {
    if case .room(let state) = self { return state.roomId }
    return ""
  }
}
