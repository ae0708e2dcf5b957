extension Store {
  /// What opening `path` with these migrations would do to its schema, without changing or owning the file.
  ///
  /// Throws as opening would: `migration`, `foreignFile`, `corrupt`. A missing file has everything pending.
  public static func migrationPlan(path: String, migrations: [Migration]) throws(StoreError) -> MigrationPlan {
    let migrator = Migrator(migrations)
    guard DatabaseFile.sizeBytes(path) > 0 else { return migrator.allPending }
    let connection = try ConnectionFactory(configuration: StoreConfiguration(path: path)).verifiedReader()
    defer { try? connection.close() }
    return try migrator.plan(on: connection)
  }
}
