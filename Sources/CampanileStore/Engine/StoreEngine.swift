/// A database engine below a store. SQLite is one; a server is another.
package protocol StoreEngine: Sendable {
  /// The database in messages: a path, or an address without its password.
  var place: String { get }
  var dialect: SQLDialect { get }
  /// Whether reads run on the caller's thread. False if a read waits for a network.
  var readsInline: Bool { get }
  /// Maximum number of connections for reads.
  var readersMax: Int { get }
  /// Maximum time that a read waits for a connection before it fails with `overloaded`.
  var readerWaitMs: Int { get }

  /// Time after its last read when a connection is replaced, because its server may have been replaced by another one;
  /// nil if there is no other.
  var readerIdleMax: Duration? { get }

  /// Maximum time that a commit waits for callers whose last writes have just ended. 0 if a commit is cheap.
  var gatheringNsMax: Int64 { get }

  /// Prepares the database for this process, and takes the right to write to it if only one process may.
  ///
  /// - Throws: `inUse` if another process has that right, `unavailable`, or `foreignFile`.
  func claim() throws(StoreError) -> (any StoreClaim)?
  /// Opens a connection for the writer.
  func openWriter() throws(StoreError) -> any StoreConnection
  /// Opens a connection that changes nothing.
  func openReader() throws(StoreError) -> any StoreConnection
  /// Checks the database before its first use.
  func check(_ connection: any StoreConnection) throws(StoreError) -> StartupCheckOutcome
  /// Called with a writer's connection that replaces a failed one, and with the last one before it closes.
  func tidy(_ connection: any StoreConnection)
  /// The statements about leases; nil if only one process may use the database.
  var leaseStatements: LeaseStatements? { get }
  /// Connects this process with the others that use the database; nil if there cannot be any.
  ///
  /// - Parameter onChange: Called on a thread of the signal's own after commits of others.
  func openSignal(_ onChange: @escaping @Sendable (ChangedNames) -> Void) -> (any ChangeSignal)?
  /// The sizes of the database and of its log in bytes; 0 if the engine does not know them.
  func sizes() -> (databaseBytes: Int64, logBytes: Int64)
}

/// The right of one process to write to a database. Released when the store ends.
package protocol StoreClaim: Sendable {
  func release()
}

/// The result of the startup check. A damaged database is not a result but an error.
public enum StartupCheckOutcome: Sendable, Hashable {
  case skipped
  case passed
  /// The time limit was reached before any fault was found.
  case timedOut
}

/// The dialects in which a migration can be written.
package enum SQLDialect: Sendable {
  case sqlite, postgreSQL
}
