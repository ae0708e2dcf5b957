/// Limits of the connections to a server.
public struct PostgreSQLLimits: Sendable, Hashable {
  /// Maximum time without a sign of life while an answer is due. The connection is then closed, so that a frozen
  /// server stops no thread.
  public var silenceMsMax = 10_000
  /// The same for the statements of a migration, which may rewrite a large table.
  public var migrationSilenceMsMax = 3_600_000
  /// Maximum time to find out whether a COMMIT whose answer was lost took effect.
  public var outcomeMsMax = 30_000
  /// Time after which the writer asks for the state of the server again.
  public var sizeIntervalMs = 10_000
  /// Maximum number of connections for reads.
  public var readersMax = 8
  /// Maximum time that a read waits for a connection before it fails with `overloaded`.
  public var readerWaitMs = 1_000

  public init() {}
}

/// The role of a connection.
enum SessionRole: Sendable {
  case writer, reader
  /// Informs other processes of commits.
  case signal
}
