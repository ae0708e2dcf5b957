import CampanileAPI

/// The rules that decide which notices are sent. See `NoticeSettings` in the contract.
enum NoticeRules {
  /// The time after the completion of a meeting at which absences are counted.
  static let absenceDelayMs: Int64 = 24 * 3_600 * 1_000
  /// The maximum age of a meeting whose completion causes notices about absences. Imports complete the meetings of
  /// earlier years.
  static let completedAgeMaxMs: Int64 = 30 * 24 * 3_600 * 1_000

  /// Returns the notice that a change of a meeting causes; nil if there is none.
  ///
  /// - Parameter new: The changed meeting; nil if it was deleted.
  static func kind(from old: Meeting, to new: Meeting?, nowMs: Int64) -> NoticeKind? {
    switch (isUpcoming(old, nowMs), new.map { isUpcoming($0, nowMs) } ?? false) {
    case (true, true):
      old.startTime != new?.startTime || old.location != new?.location ? .meetingChanged : nil
    case (true, false): new == nil || new?.status == .cancelled ? .meetingCancelled : nil
    // The meeting was cancelled and takes place after all, or it was moved from the past.
    case (false, true): .meetingChanged
    case (false, false): nil
    }
  }

  /// Returns whether absences are counted after a change, which is the case if it completes a recent meeting.
  ///
  /// - Parameter old: The meeting before; nil if it is new.
  static func countsAbsences(from old: Meeting?, to new: Meeting?, nowMs: Int64) -> Bool {
    guard let new, new.status == .completed, old?.status != .completed else { return false }
    return new.startMs > nowMs - completedAgeMaxMs
  }

  static func isUpcoming(_ meeting: Meeting, _ nowMs: Int64) -> Bool {
    meeting.status == .scheduled && meeting.startMs > nowMs
  }

  /// Returns the number of meetings that a member has missed without a presence between them, up to `max`.
  ///
  /// Excused meetings are skipped, like those before the initiation.
  ///
  /// - Parameters:
  ///   - marks: The member's marks, newest first.
  ///   - max: The count at which to stop.
  /// - Returns: 0 if the member did not miss the newest meeting, because no notice is due for it then.
  static func missedCount(_ marks: some Sequence<UInt8>, max: Int) -> Int {
    var count = 0
    var isFirst = true
    for mark in marks {
      switch mark {
      case Mark.absent.rawValue, Mark.unconfirmed.rawValue: count += 1
      case Mark.excused.rawValue, Mark.ineligible.rawValue: if isFirst { return 0 }
      default: return count
      }
      isFirst = false
      if count >= max { return count }
    }
    return count
  }
}

extension NoticeSettings {
  /// Whether any notice is sent.
  var isOn: Bool { meetingChanges || reminderBefore != nil || absenceThreshold > 0 }

  func includes(_ kind: NoticeKind) -> Bool {
    switch kind {
    case .meetingChanged, .meetingCancelled: meetingChanges
    case .reminder: reminderBefore != nil
    case .absence: absenceThreshold > 0
    default: false
    }
  }
}

/// A set of kinds, stored as a number with one bit for each.
struct RefusedNotices: Sendable, Hashable {
  private static let all: [NoticeKind] = [.meetingChanged, .meetingCancelled, .reminder, .absence]

  let bits: Int64

  init(bits: Int64) { self.bits = bits }

  init(_ kinds: [NoticeKind]) {
    bits = kinds.reduce(0) { $0 | Self.bit($1) }
  }

  /// The kinds in the order of their numbers.
  var kinds: [NoticeKind] { Self.all.filter(contains) }

  func contains(_ kind: NoticeKind) -> Bool { bits & Self.bit(kind) != 0 }

  private static func bit(_ kind: NoticeKind) -> Int64 {
    (1..<63).contains(kind.rawValue) ? 1 << Int64(kind.rawValue) : 0
  }
}
