import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Streams the ids of users whose data has changed, one page of the log at a time, for as long as the caller listens.
struct ChangedUsersWatch: Sendable {
  /// The scope of the tokens, in place of a user.
  private static let scope = "*"
  private static let usersMax = 1_000
  private static let pageRows: Int64 = 10_000

  static let usersSQL = "SELECT user_id FROM users WHERE user_id > $1 ORDER BY user_id LIMIT $2"
  static let changesSQL = "SELECT sequence, user_id FROM changes WHERE sequence > $1 ORDER BY sequence LIMIT $2"

  let store: Store
  let epoch: UInt64
  let hub: WatchHub

  func run(resumeToken: String, send: (WatchChangedUsersResponse) async throws -> Void) async throws {
    // Subscribe before reading the log, so that no commit is missed.
    let signal = try hub.add(user: Self.scope)
    defer { hub.remove(signal, user: Self.scope) }
    var position: Int64
    if let resumed = try start(resumeToken) {
      position = resumed
    } else {
      // Read the position before the users: whoever changes in the meantime is reported again.
      position = try store.readSingle { try $0.queryOne(NotificationChangeLog.lastSQL) { try $0.integer(0) } ?? 0 }
      try await sendEverybody(send)
      try await send(response([], position))
    }
    while true {
      let (users, last) = try changed(after: position)
      if users.isEmpty {
        try await signal.wait()
        continue
      }
      position = last
      try await send(response(users, position))
    }
  }

  /// Returns nil if all users must be reported: without a token, or if its changes are no longer retained.
  private func start(_ text: String) throws -> Int64? {
    guard !text.isEmpty else { return nil }
    let token = try ResumeToken(text, user: Self.scope)
    return try store.read { transaction in
      let last = try transaction.queryOne(NotificationChangeLog.lastSQL) { try $0.integer(0) } ?? 0
      let first = try transaction.queryOne(NotificationChangeLog.firstSQL) { try $0.integer(0) } ?? 0
      guard token.epoch == epoch, token.sequence <= last, first <= token.sequence + 1 else { return nil }
      return token.sequence
    }
  }

  private func sendEverybody(_ send: (WatchChangedUsersResponse) async throws -> Void) async throws {
    var after = ""
    while true {
      let position = after
      let users = try store.readSingle { transaction in
        try transaction.query(Self.usersSQL, [.text(position), .int(Self.usersMax)]) { try $0.text(0) }
      }
      guard let last = users.last else { return }
      after = last
      try await send(WatchChangedUsersResponse(userIds: users))
    }
  }

  /// Returns each changed user once, and the sequence of the last change that was read.
  private func changed(after position: Int64) throws -> (users: [String], last: Int64) {
    try store.readSingle { transaction in
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

  private func response(_ users: [String], _ position: Int64) -> WatchChangedUsersResponse {
    WatchChangedUsersResponse(
      userIds: users, resumeToken: ResumeToken(epoch: epoch, sequence: position).text(user: Self.scope))
  }

  /// Wakes the watches after a commit.
  static func notify(_ hub: WatchHub) { hub.notify(user: scope) }
}
