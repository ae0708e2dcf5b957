public import CampanileClient

extension Campanile {
  public var attendance: AttendanceClients { AttendanceClients(self) }
}

/// The clients of Attendance.
public struct AttendanceClients: Sendable {
  private let campanile: Campanile
  init(_ campanile: Campanile) { self.campanile = campanile }

  public var service: AttendanceServiceClient { .init(campanile.caller) }
  public var lodge: LodgeServiceClient { .init(campanile.caller) }
  public var meetings: MeetingsServiceClient { .init(campanile.caller) }
  public var members: MembersServiceClient { .init(campanile.caller) }
  public var sessions: SessionsServiceClient { .init(campanile.caller) }
  public var statistics: StatisticsServiceClient { .init(campanile.caller) }

  /// Returns the changes of the lodge's roster.
  public func watch(
    _ request: WatchRosterChangesRequest = .init()
  ) -> Watch<WatchRosterChangesRequest, WatchRosterChangesResponse> {
    campanile.watch(AttendanceServiceMethods.watchRosterChanges, request)
  }
}

extension WatchRosterChangesRequest: WatchRequest {}
extension WatchRosterChangesResponse: WatchResponse {
  public var kind: WatchResponseKind<RosterChange> {
    switch event {
    case .started: .started
    case .change(let change): .change(change)
    case .reached: .reached
    case nil: .unknown
    }
  }
}
