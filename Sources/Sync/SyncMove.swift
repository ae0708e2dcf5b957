package import CampanileStore
import SyncContents

/// The steps of a move of Sync's database to another engine that concern the contents.
public enum SyncMove {
  /// Tables that are not copied, because `copyContents` copies the contents.
  public static let unmovedTables: Set<String> = [ChunkTable.name]
  /// Statements that end a move: the contents in the journal have been copied as well.
  public static let finishing = ["DELETE FROM content_journal"]

  /// Returns the folder of the contents in a data folder.
  public static func contentsFolder(in dataDir: String) -> String { "\(dataDir)/sync-contents" }

  /// Copies the contents and the unfinished uploads, and describes the result. Each side is a connection, and the data
  /// folder whose contents a database on SQLite has.
  package static func copyContents(
    from source: (connection: any StoreConnection, dataDir: String),
    to target: (connection: any StoreConnection, dataDir: String)
  ) throws -> String {
    let report = try ContentsMove.run(
      from: .init(source.connection, folder: contentsFolder(in: source.dataDir)),
      to: .init(target.connection, folder: contentsFolder(in: target.dataDir)))
    let copied = "\(report.contentCount) contents copied and verified"
    guard report.damagedCount > 0 else { return copied }
    let names = report.damaged.joined(separator: ", ")
    return "\(copied), and \(report.damagedCount) that are missing or damaged left out: \(names)"
  }
}
