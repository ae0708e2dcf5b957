import CampanilePostgreSQL
package import CampanileStore
import Foundation
import TestSupport
package import Testing

/// Databases that versions of a service have written, as SQL text, with the answers that the service gave then.
///
/// They are in `Tests/Golden`, a folder for each service: `VERSION.sql` and `VERSION.json`. To add a version, run the
/// test that writes them with its name in `CAMPANILE_WRITE_GOLDEN`. Never change the files of an earlier one.
package struct GoldenData: Sendable {
  private let folder: String

  /// - Parameter file: The source file of the tests.
  package init(file: String = #filePath) {
    let tests = URL(fileURLWithPath: file).deletingLastPathComponent()
    folder = tests.deletingLastPathComponent().appendingPathComponent("Golden/\(tests.lastPathComponent)").path
  }

  /// The versions, in alphabetical order. Without a version the tests fail, because there is nothing to load.
  package var versions: [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let versions = names.filter { $0.hasSuffix(".sql") }.map { String($0.dropLast(4)) }.sorted()
    return versions.isEmpty ? ["missing"] : versions
  }

  fileprivate static let writtenVersion = ProcessInfo.processInfo.environment["CAMPANILE_WRITE_GOLDEN"]

  /// Writes the closed database at a path, and the answers, as the version that the environment names.
  package func write(_ path: String, answers: [String]) throws {
    let version = try #require(Self.writtenVersion)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // A dump omits the number that marks the file as this service's.
    let mark = try Self.sqlite3(
      path, "SELECT 'PRAGMA application_id = ' || application_id || ';' FROM pragma_application_id")
    try (Self.sqlite3(path, ".dump") + mark)
      .write(toFile: "\(folder)/\(version).sql", atomically: true, encoding: .utf8)
    try (answers.joined(separator: "\n") + "\n")
      .write(toFile: "\(folder)/\(version).json", atomically: true, encoding: .utf8)
  }

  /// Returns the answers, one JSON text each.
  package func answers(_ version: String) throws -> [String] {
    try String(contentsOfFile: "\(folder)/\(version).json", encoding: .utf8).split(separator: "\n").map(String.init)
  }

  /// Creates the database that the tests open for a path. On PostgreSQL, it is upgraded as a file and then moved.
  package func load(
    _ version: String, into path: String, migrations: [Migration], omitting omitted: Set<String> = [],
    finishing: [String] = [],
    copyContents: ((_ source: any StoreConnection, _ target: any StoreConnection) throws -> Void)? = nil
  ) async throws {
    _ = try Self.sqlite3(path, ".read '\(folder)/\(version).sql'")
    guard TestStore.usesPostgreSQL else { return }
    try await Store(StoreConfiguration(path: path), migrations: migrations).close()
    var move = StoreMove(
      from: StoreConfiguration(path: path), to: try TestStore.configuration(path), migrations: migrations,
      omitting: omitted, finishing: finishing)
    move.copyContents = copyContents
    _ = try move.run()
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
