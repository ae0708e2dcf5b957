extension Store {
  /// Returns the effect of opening a store with these migrations, without changing or locking the database.
  ///
  /// All migrations are pending for a missing file.
  ///
  /// - Throws: `migration`, `foreignFile` or `corrupt`, as opening would.
  public static func migrationPlan(
    _ configuration: StoreConfiguration, migrations: [Migration]
  ) throws(StoreError) -> MigrationPlan {
    let migrator = Migrator(migrations)
    let connection: any StoreConnection
    if let engine = configuration.engine {
      connection = try engine.openReader()
    } else {
      guard DatabaseFile.sizeBytes(configuration.path) > 0 else { return migrator.allPending }
      connection = try ConnectionFactory(configuration: configuration).verifiedReader()
    }
    defer { try? connection.close() }
    return try migrator.plan(on: connection)
  }
}
