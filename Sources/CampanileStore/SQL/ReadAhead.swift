/// A query with its arguments.
public struct SQLQuery: Sendable, Hashable {
  public var sql: String
  public var arguments: [SQLValue]

  public init(_ sql: String, _ arguments: [SQLValue] = []) {
    self.sql = sql
    self.arguments = arguments
  }
}

/// The queries with which a write begins. A server answers those of many waiting writes together, so that a commit
/// waits for the network once instead of once for each write.
///
/// The body runs the same queries as if they had not been asked, before it changes anything. SQLite ignores them.
public struct ReadAhead: Sendable {
  /// A name for results of other queries that the body changes, for example a member. Nil if there are none. Of
  /// several waiting writes with the same subject, only the first asks ahead.
  public var subject: String?
  public var queries: [SQLQuery]
  /// Whether the body needs no answer to a query, because an earlier commit has left it in memory. Called on the
  /// writer's thread.
  private let isKnown: (@Sendable (SQLQuery) -> Bool)?

  public init(subject: String?, _ queries: [SQLQuery], isKnown: (@Sendable (SQLQuery) -> Bool)? = nil) {
    self.subject = subject
    self.queries = queries
    self.isKnown = isKnown
  }

  var unknownQueries: [SQLQuery] {
    guard let isKnown else { return queries }
    return queries.filter { !isKnown($0) }
  }
}
