import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Streams the ids of users whose data has changed, one page of the log at a time, for as long as the caller listens.
struct ChangedUsersWatch: Sendable {
  /// The scope of the tokens, in place of a user.
  static let scope = "*"
  private static let usersMax = 1_000
  private static let pageRows: Int64 = 10_000

  static let changesSQL = "SELECT sequence, user_id FROM changes WHERE sequence > $1 ORDER BY sequence LIMIT $2"

  let store: Store
  let epoch: UInt64
  let hub: WatchHub

  /// Runs until the task is cancelled, the service stops or `send` throws. Throws OUT_OF_RANGE, reason
  /// `TOKEN_TOO_OLD`, if changes after the token or the last message are no longer retained.
  func run(resumeToken: String, send: (WatchChangedUsersResponse) async throws -> Void) async throws {
    // Subscribe before reading the log, so that no commit is missed.
    let signal = try hub.add(user: Self.scope)
    defer { hub.remove(signal, user: Self.scope) }
    var position = try await start(resumeToken)
    try await send(response(.started(.init()), position))
    while true {
      let (users, last) = try await changed(after: position)
      if users.isEmpty {
        try await signal.wait()
        continue
      }
      position = last
      try await send(response(.change(.init(userIds: users)), position))
    }
  }

  private func start(_ text: String) async throws -> Int64 {
    try await store.read { transaction in
      let last = try transaction.lastChange()
      guard !text.isEmpty else { return last }
      let token = try ResumeToken(text, user: Self.scope)
      guard token.epoch == epoch, token.sequence <= last else { throw ChangeLogTable.tokenTooOld }
      return token.sequence
    }
  }

  /// Returns each changed user once, and the sequence of the last change that was read.
  private func changed(after position: Int64) async throws -> (users: [String], last: Int64) {
    try await store.read { transaction in
      let first = try transaction.queryOne(NotificationChangeLog.firstSQL) { try $0.integer(0) } ?? 0
      guard first <= position + 1 else { throw ChangeLogTable.tokenTooOld }
      var users: [String] = []
      var seen: Set<String> = []
      var last = position
      try transaction.forEach(Self.changesSQL, [.integer(position), .integer(Self.pageRows)]) { row in
        last = try row.integer(0)
        let user = try row.text(1)
        if seen.insert(user).inserted { users.append(user) }
        return users.count < Self.usersMax
      }
      return (users, last)
    }
  }

  private func response(_ event: WatchChangedUsersResponse.Event, _ position: Int64) -> WatchChangedUsersResponse {
    WatchChangedUsersResponse(
      resumeToken: ResumeToken(epoch: epoch, sequence: position).text(user: Self.scope), event: event)
  }

  /// Wakes the watches after a commit.
  static func notify(_ hub: WatchHub) { hub.notify(user: scope) }
}
