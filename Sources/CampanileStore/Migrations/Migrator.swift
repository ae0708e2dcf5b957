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
  func apply(on connection: any StoreConnection) throws(StoreError) -> MigrationPlan {
    do {
      if try !connection.hasTable("schema_migrations") { try createTable(on: connection) }
      var plan = MigrationPlan()
      for (component, migrations) in lists {
        let pending = try pending(of: component, migrations, on: connection, &plan)
        for (position, migration) in pending {
          guard try apply(migration, component, position, on: connection) else {
            // Another process has applied it. Its list must be compared with this one.
            return try apply(on: connection).following(plan.pending)
          }
          plan.pending.append(migration.identifier)
        }
      }
      return plan
    } catch {
      throw .from(error, path: connection.place)
    }
  }

  private func createTable(on connection: any StoreConnection) throws {
    try connection.beginMigrating()
    do {
      try connection.runScript(
        """
        CREATE TABLE IF NOT EXISTS schema_migrations (
          component TEXT NOT NULL, position BIGINT NOT NULL, identifier TEXT NOT NULL, checksum TEXT NOT NULL,
          PRIMARY KEY (component, position))
        """)
      try connection.commit()
    } catch {
      connection.rollBack()
      throw error
    }
  }

  /// The plan for a missing file.
  var allPending: MigrationPlan {
    MigrationPlan(pending: lists.flatMap { $0.migrations.map(\.identifier) })
  }

  /// Returns the plan of `apply` without changing anything.
  func plan(on connection: any StoreConnection) throws(StoreError) -> MigrationPlan {
    do {
      guard try connection.hasTable("schema_migrations") else { return allPending }
      var plan = MigrationPlan()
      for (component, migrations) in lists {
        plan.pending += try pending(of: component, migrations, on: connection, &plan).map(\.1.identifier)
      }
      return plan
    } catch {
      throw .from(error, path: connection.place)
    }
  }

  private func pending(
    of component: String, _ migrations: [Migration], on connection: any StoreConnection, _ plan: inout MigrationPlan
  ) throws -> [(Int, Migration)] {
    guard Set(migrations.map(\.identifier)).count == migrations.count else {
      throw StoreError(.migration, "two migrations share an identifier", path: connection.place)
    }
    var applied: [(identifier: String, checksum: String)] = []
    let sql = "SELECT identifier, checksum FROM schema_migrations WHERE component = $1 ORDER BY position"
    try connection.forEachRow(sql, [.text(component)], allowed: .reading) { row in
      applied.append((try row.text(0), try row.text(1)))
      return true
    }
    for (index, entry) in applied.enumerated() {
      guard let known = migrations.first(where: { $0.identifier == entry.identifier }) else {
        throw StoreError(
          .migration, "the schema is newer than this program: it has the unknown migration \(entry.identifier)",
          path: connection.place)
      }
      guard try known.checksum(for: connection.dialect) == entry.checksum else {
        throw StoreError(
          .migration, "migration \(entry.identifier) was changed after it had been applied", path: connection.place)
      }
      guard index < migrations.count, migrations[index] == known else {
        throw StoreError(
          .migration, "migration \(entry.identifier) was applied in another order", path: connection.place)
      }
    }
    plan.applied += applied.map(\.identifier)
    return Array(migrations.enumerated().dropFirst(applied.count)).map { ($0.offset, $0.element) }
  }

  /// Applies one migration.
  ///
  /// - Returns: False if another process has applied one at this position, which it could until the transaction began.
  private func apply(
    _ migration: Migration, _ component: String, _ position: Int, on connection: any StoreConnection
  ) throws -> Bool {
    try connection.beginMigrating()
    do {
      let applied = try connection.integer(
        "SELECT count(*) FROM schema_migrations WHERE component = $1 AND position = $2",
        [.text(component), .int(position)])
      guard applied == 0 else {
        connection.rollBack()
        return false
      }
      try connection.runScript(migration.text(for: connection.dialect))
      guard connection.isInTransaction else {
        throw StoreError(.migration, "it ends its transaction")
      }
      try connection.run(
        "INSERT INTO schema_migrations (component, position, identifier, checksum) VALUES ($1, $2, $3, $4)",
        [
          .text(component), .int(position), .text(migration.identifier),
          .text(try migration.checksum(for: connection.dialect)),
        ])
      try connection.commit()
      return true
    } catch {
      connection.rollBack()
      let cause = StoreError.from(error, path: connection.place)
      guard cause.discredits else {
        throw StoreError(
          .migration, "migration \(migration.identifier) failed: \(cause.message)", path: connection.place,
          engineCode: cause.engineCode)
      }
      throw cause
    }
  }
}
