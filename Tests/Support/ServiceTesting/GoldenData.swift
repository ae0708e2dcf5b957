import CampanilePostgreSQL
package import CampanileStore
import Foundation
import TestSupport
package import Testing

/// Databases that versions of a service have written, as SQL text, with the answers that the service gave then.
///
/// They are in `Tests/Golden`, a folder for each service: `VERSION.sql` and `VERSION.json` of a file, and
/// `VERSION.postgresql.sql` and `VERSION.postgresql.json` of a server. Their ids differ, so each has its own answers.
/// To add a version, run the tests that write them on both engines:
///
///     CAMPANILE_WRITE_GOLDEN=VERSION scripts/test --swift GoldenDataTests/writeData
///     CAMPANILE_WRITE_GOLDEN=VERSION scripts/test --store postgresql --swift GoldenDataTests/writeData
///
/// Never change the files of an earlier one. Files that exist are not overwritten.
package struct GoldenData: Sendable {
  /// A database that a version has written.
  package struct Dump: Sendable, CustomStringConvertible {
    var version: String
    /// Whether it was on a server. Otherwise it was a file.
    package var isOfServer: Bool

    /// The name of its files without `.sql` and `.json`.
    package var description: String { version + (isOfServer ? GoldenData.serverSuffix : "") }
  }

  private static let serverSuffix = ".postgresql"
  private let folder: String

  /// - Parameter file: The source file of the tests.
  package init(file: String = #filePath) {
    let tests = URL(fileURLWithPath: file).deletingLastPathComponent()
    folder = tests.deletingLastPathComponent().appendingPathComponent("Golden/\(tests.lastPathComponent)").path
  }

  /// The databases that today's version must open: those of files, and on PostgreSQL also those of servers.
  ///
  /// Without a version the tests fail, because there is nothing to load.
  package var dumps: [Dump] { dumps(ofServer: false) + (TestStore.usesPostgreSQL ? dumps(ofServer: true) : []) }

  private func dumps(ofServer isOfServer: Bool) -> [Dump] {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let names = files.filter { $0.hasSuffix(".sql") }.map { $0.dropLast(4) }.sorted()
    let versions = names.filter { $0.hasSuffix(Self.serverSuffix) == isOfServer }
      .map { String(isOfServer ? $0.dropLast(Self.serverSuffix.count) : $0) }
    return (versions.isEmpty ? ["missing"] : versions).map { Dump(version: $0, isOfServer: isOfServer) }
  }

  fileprivate static let writtenVersion = ProcessInfo.processInfo.environment["CAMPANILE_WRITE_GOLDEN"]

  /// Writes the closed database of a path, and the answers, as the version that the environment names.
  package func write(_ path: String, answers: [String]) throws {
    let dump = Dump(version: try #require(Self.writtenVersion), isOfServer: TestStore.usesPostgreSQL)
    for file in [sqlFile(dump), answersFile(dump)] {
      try #require(!FileManager.default.fileExists(atPath: file), "\(file) exists; choose another version")
    }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try (dump.isOfServer ? TestStore.dump(path) : Self.dump(path))
      .write(toFile: sqlFile(dump), atomically: true, encoding: .utf8)
    try (answers.joined(separator: "\n") + "\n").write(toFile: answersFile(dump), atomically: true, encoding: .utf8)
  }

  /// Returns the answers, one JSON text each.
  package func answers(_ dump: Dump) throws -> [String] {
    try String(contentsOfFile: answersFile(dump), encoding: .utf8).split(separator: "\n").map(String.init)
  }

  /// Creates the database that the tests open for a path.
  ///
  /// On PostgreSQL, a file is upgraded and then moved. The data of a server are upgraded when the tests open them, so
  /// that migrations run their text for PostgreSQL on rows of earlier versions.
  package func load(
    _ dump: Dump, into path: String, migrations: [Migration], omitting omitted: Set<String> = [],
    finishing: [String] = [],
    copyContents: ((_ source: any StoreConnection, _ target: any StoreConnection) throws -> Void)? = nil
  ) async throws {
    if dump.isOfServer {
      return try TestStore.load(String(contentsOfFile: sqlFile(dump), encoding: .utf8), path)
    }
    _ = try Self.sqlite3(path, ".read '\(sqlFile(dump))'")
    guard TestStore.usesPostgreSQL else { return }
    try await Store(StoreConfiguration(path: path), migrations: migrations).close()
    var move = StoreMove(
      from: StoreConfiguration(path: path), to: try TestStore.configuration(path), migrations: migrations,
      omitting: omitted, finishing: finishing)
    move.copyContents = copyContents
    _ = try move.run()
  }

  private func sqlFile(_ dump: Dump) -> String { "\(folder)/\(dump).sql" }
  private func answersFile(_ dump: Dump) -> String { "\(folder)/\(dump).json" }

  /// Returns the tables of a database file as SQL text.
  private static func dump(_ path: String) throws -> String {
    // A dump omits the number that marks the file as this service's.
    let mark = "SELECT 'PRAGMA application_id = ' || application_id || ';' FROM pragma_application_id"
    return try sqlite3(path, ".dump") + sqlite3(path, mark)
  }

  /// Runs SQLite's command line, without recording its statements for the tests of their portability.
  private static func sqlite3(_ path: String, _ command: String) throws -> String {
    try ExternalProgram.run(["--unset=LD_PRELOAD", "sqlite3", path, command])
  }
}

extension Trait where Self == ConditionTrait {
  /// Runs a test that writes golden data only if the environment names a version.
  package static var whenWritingGoldenData: Self {
    .enabled(if: GoldenData.writtenVersion != nil, "CAMPANILE_WRITE_GOLDEN names no version")
  }
}
