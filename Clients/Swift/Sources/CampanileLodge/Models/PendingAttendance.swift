public import CampanileAttendance
import CampanileClient

/// A confirmation that waits for a network.
public struct PendingAttendance: Sendable, Hashable, Identifiable {
  /// The id of the outbox's entry.
  public let id: UInt64
  public let meetingID: String
  public let status: AttendanceStatus

  /// Returns `nil` for a call of another kind.
  init?(_ entry: OutboxEntry) {
    guard
      let request: ConfirmAttendanceRequest = entry.request(of: AttendanceServiceMethods.confirmAttendance)
    else { return nil }
    (id, meetingID, status) = (entry.id, request.meetingId, request.status)
  }
}

/// A confirmation that the server refused, with its reason, such as `MEETING_CANCELLED`.
public struct RefusedAttendance: Sendable, Hashable, Identifiable {
  public let pending: PendingAttendance
  public let error: RPCError

  public var id: UInt64 { pending.id }

  init?(_ refusal: OutboxRefusal) {
    guard let pending = PendingAttendance(refusal.entry) else { return nil }
    self.pending = pending
    error = refusal.error
  }
}
