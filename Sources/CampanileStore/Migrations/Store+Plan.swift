extension Store {
  /// Returns the effect of opening `path` with these migrations, without changing or locking the file.
  ///
  /// All migrations are pending for a missing file.
  ///
  /// - Throws: `migration`, `foreignFile` or `corrupt`, as opening would.
  public static func migrationPlan(path: String, migrations: [Migration]) throws(StoreError) -> MigrationPlan {
    let migrator = Migrator(migrations)
    guard DatabaseFile.sizeBytes(path) > 0 else { return migrator.allPending }
    let connection = try ConnectionFactory(configuration: StoreConfiguration(path: path)).verifiedReader()
    defer { try? connection.close() }
    return try migrator.plan(on: connection)
  }
}
