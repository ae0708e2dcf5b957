public import CampanileAttendance
import CampanileClient
public import Foundation

/// The lodge's members and meetings, and the attendance that the caller may see. No I/O.
public struct Roster: Hashable, Sendable {
  public private(set) var members: [String: Member] = [:]
  public private(set) var meetings: [String: Meeting] = [:]
  /// By the id of the meeting, then of the member. Members see their own only.
  public private(set) var attendance: [String: [String: Attendance]] = [:]
  /// The position in the changes of the roster; empty before the first one.
  public internal(set) var resumeToken = ""

  public init() {}

  mutating func apply(_ change: RosterChange) {
    switch change.change {
    case .member(let member): members[member.id] = member
    case .meeting(let meeting): meetings[meeting.id] = meeting
    case .attendance(let record): attendance[record.meetingId, default: [:]][record.memberId] = record
    case .meetingDeleted(let deleted):
      meetings[deleted.meetingId] = nil
      attendance[deleted.meetingId] = nil
    case .attendanceDeleted(let deleted): attendance[deleted.meetingId]?[deleted.memberId] = nil
    case nil: break
    }
  }

  /// Records a status that the server has accepted, until its change arrives.
  mutating func record(_ status: AttendanceStatus, meetingID: String, memberID: String) {
    var record = attendance[meetingID]?[memberID] ?? Attendance(memberId: memberID, meetingId: meetingID)
    record.status = status
    attendance[meetingID, default: [:]][memberID] = record
  }

  /// Returns a member's statuses, by the id of the meeting.
  public func statuses(of memberID: String) -> [String: AttendanceStatus] {
    attendance.compactMapValues { $0[memberID]?.status }
  }

  /// The active members, by degree from master to apprentice, then by name.
  public var membersByDegree: [Member] {
    members.values.filter(\.active).sorted { first, second in
      first.degree == second.degree ? first.name < second.name : first.degree.rawValue > second.degree.rawValue
    }
  }

  /// Returns the scheduled meetings that begin after a date, the next one first.
  public func upcoming(after date: Date) -> [Meeting] {
    meetings.values.filter { $0.status == .scheduled && ($0.startTime?.date ?? .distantPast) > date }
      .sorted { $0.startMs < $1.startMs }
  }

  /// Returns the meetings of a year, newest first; 0 means all.
  public func meetings(of year: Int32) -> [Meeting] {
    meetings.values.filter { year == 0 || $0.year == year }.sorted { $0.startMs > $1.startMs }
  }
}

extension Meeting {
  var startMs: Int64 { startTime?.millisecondsSince1970 ?? 0 }
}
