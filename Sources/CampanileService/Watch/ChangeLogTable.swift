public import CampanileRPC
public import CampanileStore

/// What the change logs of all services have in common: a table `changes` whose `sequence` ascends without gaps in the order of
/// the commits, with `user_id` and `at_ms`; `compacted_through` in `users`; and the cursors of other services' feeds in
/// `change_cursors`.
public enum ChangeLogTable {
  public static let lastSQL = "SELECT coalesce(max(sequence), 0) FROM changes"
  public static let firstSQL = "SELECT coalesce(min(sequence), 0) FROM changes"
  public static let compactedSQL = "SELECT compacted_through FROM users WHERE user_id = $1"
  public static let cursorsSQL = "SELECT min(sequence) FROM change_cursors"

  /// Where a new watch begins. Throws INVALID_ARGUMENT for a token that is none of this user's, and OUT_OF_RANGE, reason
  /// `TOKEN_TOO_OLD`, when changes after it are no longer kept.
  public static func start(
    resumeToken: String, epoch: UInt64, user: String, _ transaction: ReadTransaction
  ) throws -> ResumeToken {
    let token = resumeToken.isEmpty ? nil : try ResumeToken(resumeToken, user: user)
    let last = try transaction.queryOne(lastSQL) { try $0.integer(0) } ?? 0
    let start = token ?? ResumeToken(epoch: epoch, sequence: last)
    // Another epoch is another database in this one's place; a sequence ahead of the log is one put back from a backup.
    guard start.epoch == epoch, start.sequence <= last else { throw tokenTooOld }
    try checkKept(start, user: user, transaction)
    return start
  }

  /// Throws unless every change of the user after the token is still in the log.
  public static func checkKept(_ token: ResumeToken, user: String, _ transaction: ReadTransaction) throws {
    let compacted = try transaction.queryOne(compactedSQL, [.text(user)]) { try $0.integer(0) }
    guard token.sequence >= compacted ?? 0 else { throw tokenTooOld }
  }

  public static var tokenTooOld: RPCError {
    RPCError(
      .outOfRange, "the changes after this token are no longer kept: read everything and watch without a token",
      reason: Reason.tokenTooOld.rawValue,
      fieldViolations: [
        .init(field: "resumeToken", description: "is too old", reason: Reason.tokenTooOld.rawValue)
      ])
  }
}
