/// The retention of the change log, which is the longest time that a watch can be interrupted and still resume.
public struct ChangeRetention: Sendable, Hashable {
  /// Maximum number of changes, across all users.
  public var rowsMax: Int64 = 1_000_000
  /// Age after which a change is purged.
  public var ageMaxMs: Int64 = 7 * 24 * 3_600 * 1_000
  /// Changes purged per commit, which bounds the time that other writes wait.
  public var batchRows = 1_000

  public init() {}
}
