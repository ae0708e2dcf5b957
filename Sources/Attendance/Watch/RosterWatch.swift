import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// An open watch: reads the changes visible to its caller and sends them in commit order.
///
/// It holds at most one page. While its caller receives nothing, it reads nothing, and no commit waits for it.
struct RosterWatch: Sendable {
  static let pageRows = 64

  let repository: any AttendanceRepository
  let hub: WatchHub
  let notifier: RosterNotifier

  /// Runs until the task is cancelled, the service stops, `send` throws, or `authenticate` throws. It calls
  /// `authenticate` before every page, because the caller's permissions may have changed. If the caller becomes staff,
  /// or no longer is, the watch ends with OUT_OF_RANGE.
  func run(
    _ request: WatchRosterChangesRequest, authenticate: () async throws -> AttendanceCaller,
    send: (WatchRosterChangesResponse) async throws -> Void
  ) async throws {
    let caller = try await authenticate()
    // Register before the first read, so that no commit is missed.
    let signal = try hub.add(user: caller.name)
    notifier.add(signal, isStaff: caller.isStaff)
    defer {
      notifier.remove(signal)
      hub.remove(signal, user: caller.name)
    }
    var position = try await repository.position(request.resumeToken, fromStart: request.fromStart, by: caller)
    try await send(response(.started(.init()), position, caller))
    var hasReached = false
    while true {
      let current = try await authenticate()
      guard current.isStaff == caller.isStaff else {
        throw RPCError(.outOfRange, "the caller's role has changed; begin again with from_start", .tokenTooOld)
      }
      let changes = try await repository.changes(after: position, by: current, rowsMax: Self.pageRows)
      for change in changes {
        position.sequence = change.sequence
        try await send(response(.change(.with { $0.change = change.change }), position, current))
      }
      if changes.isEmpty {
        if !hasReached { try await send(response(.reached(.init()), position, current)) }
        hasReached = true
        try await signal.wait()
      }
    }
  }

  private func response(
    _ event: WatchRosterChangesResponse.Event, _ position: ChangePosition, _ caller: AttendanceCaller
  ) -> WatchRosterChangesResponse {
    WatchRosterChangesResponse(resumeToken: position.text(for: caller), event: event)
  }
}
