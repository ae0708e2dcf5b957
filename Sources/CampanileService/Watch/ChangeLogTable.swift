public import CampanileBase
import CampanileCodec
import CampanileRPC
public import CampanileStore

/// The common part of the change logs of all services.
///
/// The table `changes` has a `sequence`, which ascends without gaps in commit order, `user_id` and `at_ms`. `users` has
/// `compacted_through`, and `change_cursors` has the cursors of other services' feeds.
public enum ChangeLogTable {
  public static let lastSQL = "SELECT coalesce(max(sequence), 0) FROM changes"
  /// The last entry's sequence and time.
  public static let endSQL = "SELECT sequence, at_ms FROM changes ORDER BY sequence DESC LIMIT 1"
  public static let firstSQL = "SELECT coalesce(min(sequence), 0) FROM changes"
  public static let compactedSQL = "SELECT compacted_through FROM users WHERE user_id = $1"
  public static let cursorsSQL = "SELECT min(sequence) FROM change_cursors"

  /// Returns the position where a new watch begins. Throws INVALID_ARGUMENT for a token that is not valid for this
  /// user, and OUT_OF_RANGE, reason `TOKEN_TOO_OLD`, if changes after it are no longer retained.
  public static func start(
    resumeToken: String, epoch: UInt64, user: String, _ transaction: ReadTransaction
  ) throws -> ResumeToken {
    let token = resumeToken.isEmpty ? nil : try ResumeToken(resumeToken, user: user)
    let last = try transaction.queryOne(lastSQL) { try $0.integer(0) } ?? 0
    let start = token ?? ResumeToken(epoch: epoch, sequence: last)
    // A different epoch means that the database was replaced. A sequence ahead of the log means that it was restored
    // from a backup.
    guard start.epoch == epoch, start.sequence <= last else { throw tokenTooOld }
    try checkRetained(start, user: user, transaction)
    return start
  }

  /// Throws unless every change of the user after the token is still in the log.
  public static func checkRetained(_ token: ResumeToken, user: String, _ transaction: ReadTransaction) throws {
    let compacted = try transaction.queryOne(compactedSQL, [.text(user)]) { try $0.integer(0) }
    guard token.sequence >= compacted ?? 0 else { throw tokenTooOld }
  }

  public static var tokenTooOld: RPCError {
    RPCError(
      .outOfRange, "the changes after this token are no longer kept: read everything and watch without a token",
      .tokenTooOld,
      fieldViolations: [
        .init(field: "resumeToken", description: "is too old", reason: Reason.tokenTooOld.rawValue)
      ])
  }
}
