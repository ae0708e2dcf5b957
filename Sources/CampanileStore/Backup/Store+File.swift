extension Store {
  /// Checks a whole database file, such as a backup, without changing it.
  ///
  /// - Throws: `corrupt` with the first faults, `unavailable` if the file does not exist, `foreignFile` if another
  ///   application created it.
  public static func checkFile(path: String) throws(StoreError) {
    guard DatabaseFile.exists(path) else {
      throw StoreError(.unavailable, "the database file does not exist", path: path)
    }
    let connection = try ConnectionFactory(configuration: StoreConfiguration(path: path)).verifiedReader()
    defer { try? connection.close() }
    _ = try IntegrityCheck.run(.complete, on: connection)
  }

  /// Runs queries on a database file that has no writer, such as a backup, without changing it.
  ///
  /// - Throws: `unavailable` if the file does not exist, `foreignFile` if another application created it, or an error
  ///   of `body`.
  public static func readFile<T>(path: String, _ body: (ReadTransaction) throws -> T) throws -> T {
    guard DatabaseFile.exists(path) else {
      throw StoreError(.unavailable, "the database file does not exist", path: path)
    }
    let connection = try ConnectionFactory(configuration: StoreConfiguration(path: path)).verifiedReader()
    defer { try? connection.close() }
    let transaction = ReadTransaction(connection, .reading)
    defer { transaction.invalidate() }
    return try body(transaction)
  }
}
