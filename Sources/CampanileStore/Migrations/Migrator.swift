import GRDB

/// Applies a list of migrations to a file's schema: forward only, each in its own transaction.
struct Migrator {
  /// Two lists share the table: the store's own migrations and the service's. Each has its own order.
  private let lists: [(component: String, migrations: [Migration])]

  init(_ migrations: [Migration]) {
    lists = [("store", StoreSchema.migrations), ("service", migrations)]
  }

  /// Applies the pending migrations and returns those applied before and now.
  ///
  /// - Throws: `migration` if the file holds an unknown migration (of a newer program), an applied one has changed, two
  ///   share an identifier, or one fails.
  func apply(on connection: SQLConnection) throws(StoreError) -> MigrationPlan {
    do {
      try connection.run(
        """
        CREATE TABLE IF NOT EXISTS schema_migrations (
          component TEXT NOT NULL, position BIGINT NOT NULL, identifier TEXT NOT NULL, checksum TEXT NOT NULL,
          PRIMARY KEY (component, position))
        """)
      var plan = MigrationPlan()
      for (component, migrations) in lists {
        let pending = try pending(of: component, migrations, on: connection, &plan)
        for (position, migration) in pending {
          try apply(migration, component, position, on: connection)
          plan.pending.append(migration.identifier)
        }
      }
      return plan
    } catch {
      throw .from(error, path: connection.path)
    }
  }

  /// The plan for a missing file.
  var allPending: MigrationPlan {
    MigrationPlan(pending: lists.flatMap { $0.migrations.map(\.identifier) })
  }

  /// Returns the plan of `apply` without changing anything.
  func plan(on connection: SQLConnection) throws(StoreError) -> MigrationPlan {
    do {
      let hasTable = try connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'schema_migrations'") ?? 0
      guard hasTable > 0 else { return allPending }
      var plan = MigrationPlan()
      for (component, migrations) in lists {
        plan.pending += try pending(of: component, migrations, on: connection, &plan).map(\.1.identifier)
      }
      return plan
    } catch {
      throw .from(error, path: connection.path)
    }
  }

  private func pending(
    of component: String, _ migrations: [Migration], on connection: SQLConnection, _ plan: inout MigrationPlan
  ) throws -> [(Int, Migration)] {
    guard Set(migrations.map(\.identifier)).count == migrations.count else {
      throw StoreError(.migration, "two migrations share an identifier", path: connection.path)
    }
    var applied: [(identifier: String, checksum: String)] = []
    let sql = "SELECT identifier, checksum FROM schema_migrations WHERE component = $1 ORDER BY position"
    try connection.forEachRow(sql, [.text(component)]) { row in
      applied.append((try row.text(0), try row.text(1)))
      return true
    }
    for (index, entry) in applied.enumerated() {
      guard let known = migrations.first(where: { $0.identifier == entry.identifier }) else {
        throw StoreError(
          .migration, "the schema is newer than this program: it has the unknown migration \(entry.identifier)",
          path: connection.path)
      }
      guard try known.checksum == entry.checksum else {
        throw StoreError(
          .migration, "migration \(entry.identifier) was changed after it had been applied", path: connection.path)
      }
      guard index < migrations.count, migrations[index] == known else {
        throw StoreError(
          .migration, "migration \(entry.identifier) was applied in another order", path: connection.path)
      }
    }
    plan.applied += applied.map(\.identifier)
    return Array(migrations.enumerated().dropFirst(applied.count)).map { ($0.offset, $0.element) }
  }

  private func apply(
    _ migration: Migration, _ component: String, _ position: Int, on connection: SQLConnection
  ) throws {
    try connection.run("BEGIN IMMEDIATE")
    do {
      try connection.queue.unsafeReentrantWrite { try $0.execute(sql: migration.sql) }
      guard !connection.isAutocommit else {
        throw StoreError(.migration, "it ends its transaction")
      }
      try connection.run(
        "INSERT INTO schema_migrations (component, position, identifier, checksum) VALUES ($1, $2, $3, $4)",
        [.text(component), .int(position), .text(migration.identifier), .text(try migration.checksum)])
      try connection.run("COMMIT")
    } catch {
      if !connection.isAutocommit { try? connection.run("ROLLBACK") }
      let cause = StoreError.from(error, path: connection.path)
      guard cause.discredits else {
        throw StoreError(
          .migration, "migration \(migration.identifier) failed: \(cause.message)", path: connection.path,
          sqliteCode: cause.sqliteCode)
      }
      throw cause
    }
  }
}
