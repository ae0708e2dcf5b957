import CampanileAPI
import CampanileRPC

/// One watch: reads the log of changes from where it stands, and waits for commits when it has told them all.
struct WatchFeed: Sendable {
  /// Changes read from the log at once.
  static let readCount = 64

  let repository: any NotificationsRepository
  let hub: WatchHub
  let user: String
  /// Empty for all.
  let bucketID: String

  /// Runs until the task is cancelled or `send` throws. Throws what is wrong with the token.
  func run(resumeToken: String, _ send: (WatchNotificationsResponse) async throws -> Void) async throws {
    // Entering first means that no commit falls between the start of the log and the first wait.
    var commits = hub.enter(user)
    defer { hub.leave(user) }
    var sequence =
      try resumeToken.isEmpty
      ? repository.lastSequence() : WatchToken.read(resumeToken, epoch: repository.epoch, user: user)
    var started = WatchNotificationsResponse()
    started.resumeToken = token(sequence)
    started.event = .started(WatchNotificationsResponse.WatchStarted())
    var isFirst = true
    while !Task.isCancelled {
      if hub.isClosed {
        throw RPCError(.unavailable, "the service is going down; resume elsewhere", reason: "DRAINING")
      }
      let changes = try repository.changes(user: user, after: sequence, limit: Self.readCount)
      if isFirst {
        // Only after the token was found good.
        isFirst = false
        try await send(started)
      }
      for change in changes {
        sequence = change.sequence
        guard bucketID.isEmpty || change.bucketID == bucketID else { continue }
        var response = change.event
        response.resumeToken = token(sequence)
        try await send(response)
      }
      if changes.count < Self.readCount { commits = await hub.wait(user, after: commits) }
    }
    throw CancellationError()
  }

  private func token(_ sequence: Int64) -> String {
    WatchToken(epoch: repository.epoch, user: user, sequence: sequence).text
  }
}
