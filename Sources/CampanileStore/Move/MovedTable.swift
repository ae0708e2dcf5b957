import CampanileCrypto

/// A table as a move copies it.
struct MovedTable: Hashable {
  var name: String
  /// In alphabetical order, because engines may add columns in different orders.
  var columns: [String] = []
  /// The columns of the primary key, in its order.
  var keyColumns: [String] = []

  /// The number of rows of a table and their hash.
  struct Digest: Hashable {
    var rows = 0
    var sha256: [UInt8] = []
  }

  private static let sqliteSQL = """
    SELECT l.name, c.name, c.pk FROM pragma_table_list AS l JOIN pragma_table_info(l.name) AS c
    WHERE l.schema = 'main' AND l.type = 'table' AND l.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
    ORDER BY l.name, c.name
    """
  private static let postgreSQL = """
    SELECT t.relname::text, a.attname::text, coalesce((
      SELECT k.place FROM unnest(i.indkey) WITH ORDINALITY AS k (number, place) WHERE k.number = a.attnum), 0)
    FROM pg_class AS t JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
      LEFT JOIN pg_index AS i ON i.indrelid = t.oid AND i.indisprimary
    WHERE t.relkind = 'r' AND t.relnamespace = current_schema()::regnamespace
    ORDER BY t.relname, a.attname
    """
  private static let identitySQL = """
    SELECT t.relname::text, a.attname::text
    FROM pg_class AS t JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attidentity <> ''
    WHERE t.relkind = 'r' AND t.relnamespace = current_schema()::regnamespace
    """

  /// Returns the statements that continue PostgreSQL's generated numbers after the copied ones.
  static func identityStatements(_ connection: any StoreConnection) throws -> [String] {
    guard connection.dialect == .postgreSQL else { return [] }
    var statements: [String] = []
    try connection.forEachRow(identitySQL, [], allowed: .reading) { row in
      let (table, column) = (try row.text(0), try row.text(1))
      statements.append(
        """
        SELECT setval(pg_get_serial_sequence('\(table)', '\(column)'),
          (SELECT coalesce(max(\(column)), 0) + 1 FROM \(table)), false)
        """)
      return true
    }
    return statements
  }

  /// Returns all tables with their columns, in alphabetical order.
  static func all(_ connection: any StoreConnection) throws -> [MovedTable] {
    var tables: [MovedTable] = []
    var keys: [(place: Int64, column: String)] = []
    func endTable() {
      guard !tables.isEmpty else { return }
      tables[tables.count - 1].keyColumns = keys.sorted { $0.place < $1.place }.map(\.column)
      keys = []
    }
    let sql = connection.dialect == .sqlite ? sqliteSQL : postgreSQL
    try connection.forEachRow(sql, [], allowed: .reading) { row in
      let name = try row.text(0)
      if tables.last?.name != name {
        endTable()
        tables.append(MovedTable(name: name))
      }
      let column = try row.text(1)
      tables[tables.count - 1].columns.append(column)
      let place = try row.integer(2)
      if place > 0 { keys.append((place, column)) }
      return true
    }
    endTable()
    return tables
  }

  var quotedName: String { "\"\(name)\"" }

  var insertSQL: String {
    let places = columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
    return "INSERT INTO \(quotedName) (\(Self.list(columns))) VALUES (\(places))"
  }

  /// Returns the values of the primary key in a row.
  func key(_ row: [SQLValue]) -> [SQLValue] {
    keyColumns.compactMap { name in columns.firstIndex(of: name).map { row[$0] } }
  }

  /// Returns the greatest primary key; nil for an empty table.
  func lastKey(_ connection: any StoreConnection) throws -> [SQLValue]? {
    var key: [SQLValue]?
    let order = keyColumns.map { "\"\($0)\" DESC" }.joined(separator: ", ")
    let sql = "SELECT \(Self.list(keyColumns)) FROM \(quotedName) ORDER BY \(order) LIMIT 1"
    try connection.forEachRow(sql, [], allowed: .reading) { row in
      key = (0..<row.count).map { row.value($0) }
      return true
    }
    return key
  }

  /// Returns the next rows in the order of the primary key.
  func rows(after key: [SQLValue]?, countMax: Int, _ connection: any StoreConnection) throws -> [[SQLValue]] {
    var sql = "SELECT \(Self.list(columns)) FROM \(quotedName)"
    if let key {
      let places = key.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
      sql += " WHERE (\(Self.list(keyColumns))) > (\(places))"
    }
    sql += " ORDER BY \(Self.list(keyColumns)) LIMIT \(countMax)"
    var rows: [[SQLValue]] = []
    try connection.forEachRow(sql, key ?? [], allowed: .reading) { row in
      rows.append((0..<row.count).map { row.value($0) })
      return true
    }
    return rows
  }

  /// Hashes all rows in the order of the primary key: each part together with the hash before it.
  func digest(_ connection: any StoreConnection, rowsPerPart: Int) throws -> Digest {
    var digest = Digest()
    var key: [SQLValue]?
    while true {
      let rows = try rows(after: key, countMax: rowsPerPart, connection)
      digest.rows += rows.count
      var bytes = digest.sha256
      for value in rows.joined() { Self.append(value, to: &bytes) }
      digest.sha256 = try SHA256.digest(bytes).bytes
      guard rows.count == rowsPerPart else { return digest }
      key = rows.last.map(self.key)
    }
  }

  /// Appends the type, the length and the bytes of a value.
  private static func append(_ value: SQLValue, to bytes: inout [UInt8]) {
    func append(_ type: UInt8, _ content: some Collection<UInt8>) {
      bytes.append(type)
      withUnsafeBytes(of: Int64(content.count).bigEndian) { bytes += $0 }
      bytes += content
    }
    switch value {
    case .null: append(0, [])
    case .integer(let value): withUnsafeBytes(of: value.bigEndian) { append(1, $0) }
    case .real(let value): withUnsafeBytes(of: value.bitPattern.bigEndian) { append(2, $0) }
    case .text(let value): append(3, value.utf8)
    case .blob(let value): append(4, value)
    }
  }

  private static func list(_ columns: [String]) -> String { columns.map { "\"\($0)\"" }.joined(separator: ", ") }
}
