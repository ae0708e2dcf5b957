import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService

/// One open watch: reads what is new for its caller and sends it in the order of the commits. It holds one page at most;
/// while its caller takes nothing it reads nothing, and nobody waits for it.
struct RosterWatch: Sendable {
  static let pageRows = 64

  let repository: any AttendanceRepository
  let hub: WatchHub
  let board: CommitBoard

  /// Runs until the task is cancelled, the service stops, `send` throws, or the caller may no longer see what it was told:
  /// `authenticate` judges that before every page.
  func run(
    since: String, authenticate: () throws -> Caller, send: (WatchChangesResponse) async throws -> Void
  ) async throws {
    let caller = try authenticate()
    // Before the first look, so that no commit falls between.
    let bell = try hub.add(user: caller.name)
    board.add(bell, isStaff: caller.isStaff)
    defer {
      board.remove(bell)
      hub.remove(bell, user: caller.name)
    }
    var position = try repository.position(since, by: caller)
    var hasReached = false
    while true {
      let current = try authenticate()
      guard current.isStaff == caller.isStaff else {
        throw RPCError(
          .outOfRange, "the caller's role has changed: begin anew", reason: Reason.tokenTooOld.rawValue)
      }
      let changes = try repository.changes(after: position, by: current, rowsMax: Self.pageRows)
      for change in changes {
        position.sequence = change.sequence
        try await send(response(.change(.with { $0.change = change.change }), position, current))
      }
      if changes.isEmpty {
        if !hasReached { try await send(response(.reached(.init()), position, current)) }
        hasReached = true
        try await bell.wait()
      }
    }
  }

  private func response(
    _ event: WatchChangesResponse.Event, _ position: ChangePosition, _ caller: Caller
  ) -> WatchChangesResponse {
    .with {
      $0.since = position.text(for: caller)
      $0.event = event
    }
  }
}
