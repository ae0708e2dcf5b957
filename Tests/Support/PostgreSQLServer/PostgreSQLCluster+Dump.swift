import Foundation

/// The tables of a schema as SQL text that any schema of any server can load.
extension PostgreSQLCluster {
  /// Lines of a dump that depend on the server, its version or the schema.
  private static let omittedLines = ["--", "\\", "SET ", "SELECT pg_catalog.set_config(", "CREATE SCHEMA "]

  /// Returns the statements that create the tables of a schema with all their rows. They do not name the schema.
  ///
  /// No store may have the schema open, because it has another name meanwhile.
  public func dump(schema: String, database: String) throws -> String {
    // A name that no row contains, because it is removed from the text.
    let name = "campanile_dump_of_\(schema)"
    try query("ALTER SCHEMA \(schema) RENAME TO \(name)", database: database)
    let text = try runClient(
      "pg_dump", "--inserts", "--no-owner", "--no-privileges", "--schema=\(name)", database: database)
    try query("ALTER SCHEMA \(name) RENAME TO \(schema)", database: database)
    return Self.portable(text).replacing("\(name).", with: "")
  }

  /// Runs the statements of a dump in an empty schema, in one transaction.
  public func load(_ dump: String, schema: String, database: String) throws {
    // A file, because the length of an argument is limited.
    let file = "\(folder)/\(database)-\(schema).sql"
    try dump.write(toFile: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: file) }
    _ = try runClient(
      "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-1", "-c", "SET search_path = \(schema)", "-f", file,
      database: database)
  }

  /// Removes lines that have no part in the tables, and those that are empty, outside of quoted texts.
  static func portable(_ dump: String) -> String {
    var (text, isQuoted) = ("", false)
    for line in dump.split(separator: "\n", omittingEmptySubsequences: false) {
      if !isQuoted, line.isEmpty || omittedLines.contains(where: { line.hasPrefix($0) }) { continue }
      text += "\(line)\n"
      // A quote in a text is doubled.
      if !line.utf8.count(where: { $0 == UInt8(ascii: "'") }).isMultiple(of: 2) { isQuoted.toggle() }
    }
    return text
  }
}
