import CampanileAPI

/// What one completed meeting is for one member. The numbers are in the database: never reuse one.
enum Mark: UInt8, Sendable, CaseIterable {
  /// Before the day of initiation.
  case ineligible = 0
  /// Nothing is known.
  case unconfirmed = 1
  case present = 2
  case absent = 3
  case excused = 4

  /// - Parameters:
  ///   - status: what is recorded; nil when nothing is.
  ///   - day: of the meeting.
  ///   - initiationDay: nil when it is not known: then every meeting counts.
  init(_ status: AttendanceStatus?, day: Int64, initiationDay: Int64?) {
    if let initiationDay, day < initiationDay {
      self = .ineligible
      return
    }
    switch status {
    case .present: self = .present
    case .absent: self = .absent
    case .excused: self = .excused
    default: self = .unconfirmed
    }
  }
}

/// A member's completed meetings of one year in the order of their start times: a byte each. It is all that statistics
/// need, is kept up in every transaction that changes attendance, meetings or initiations, and is read instead of them.
struct Marks: Sendable, Hashable {
  private(set) var bytes: [UInt8]

  init(bytes: [UInt8] = []) { self.bytes = bytes }

  init(_ marks: some Sequence<Mark>) { bytes = marks.map(\.rawValue) }

  var count: Int { bytes.count }

  /// False when there is no such meeting: then the row is damaged.
  mutating func set(_ mark: Mark, at ordinal: Int) -> Bool {
    guard bytes.indices.contains(ordinal) else { return false }
    bytes[ordinal] = mark.rawValue
    return true
  }

  mutating func insert(_ mark: Mark, at ordinal: Int) -> Bool {
    guard (0...bytes.count).contains(ordinal) else { return false }
    bytes.insert(mark.rawValue, at: ordinal)
    return true
  }

  mutating func remove(at ordinal: Int) -> Bool {
    guard bytes.indices.contains(ordinal) else { return false }
    bytes.remove(at: ordinal)
    return true
  }
}
