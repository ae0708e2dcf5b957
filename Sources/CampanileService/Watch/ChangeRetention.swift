/// How long the change log remembers, which is how long a watch may be interrupted and still resume.
public struct ChangeRetention: Sendable, Hashable {
  /// Changes kept at most, of all users together.
  public var rowsMax: Int64 = 1_000_000
  /// Age after which a change is dropped.
  public var ageMaxMs: Int64 = 7 * 24 * 3_600 * 1_000
  /// Changes dropped in one commit, so that no write waits long behind it.
  public var batchRows = 1_000

  public init() {}
}
