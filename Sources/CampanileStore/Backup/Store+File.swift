extension Store {
  /// Checks all of a database file, such as a backup, and changes nothing of it.
  ///
  /// Throws `corrupt` with the first faults, `unavailable` when there is none, `foreignFile` for another application's.
  public static func checkFile(path: String) throws(StoreError) {
    guard DatabaseFile.exists(path) else {
      throw StoreError(.unavailable, "there is no database", path: path)
    }
    let connection = try ConnectionFactory(configuration: StoreConfiguration(path: path)).verifiedReader()
    defer { try? connection.close() }
    _ = try IntegrityCheck.run(.complete, on: connection)
  }

  /// Runs queries on a database file that nobody writes, such as a backup, and changes nothing of it.
  ///
  /// Throws `unavailable` when there is none, `foreignFile` for another application's, and what `body` throws.
  public static func readFile<T>(path: String, _ body: (ReadTransaction) throws -> T) throws -> T {
    guard DatabaseFile.exists(path) else {
      throw StoreError(.unavailable, "there is no database", path: path)
    }
    let connection = try ConnectionFactory(configuration: StoreConfiguration(path: path)).verifiedReader()
    defer { try? connection.close() }
    let transaction = ReadTransaction(connection, .reading)
    defer { transaction.invalidate() }
    return try body(transaction)
  }
}
