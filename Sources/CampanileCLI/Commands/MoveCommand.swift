public import ArgumentParser
internal import CampanilePostgreSQL
internal import Foundation

/// `campanile move`
public struct MoveCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "move",
    abstract: "Move the databases of a suite to a PostgreSQL server, or back into a folder.",
    discussion: """
      Stop the suite first. Copies table by table into empty databases, compares the number of rows and a SHA-256 of each
      table, and leaves the source as it is. Repeat the command to continue after an interruption. Watches continue with
      the resume tokens that they have. The contents of Sync are copied, too. Signing keys added by call are files with
      SQLite, and rows on a server. The next start of the suite converts them, so give it the same data folder.

        campanile move --from .campanile --to postgresql://campanile@db.example.com
        campanile move --from postgresql://campanile@db.example.com --to .campanile
      """)

  @Option(help: ArgumentHelp("Data folder or PostgreSQL server of the databases.", valueName: "dir|address"))
  var from: String

  @Option(help: ArgumentHelp("Data folder or PostgreSQL server to move to.", valueName: "dir|address"))
  var to: String

  public init() {}

  public func run() async throws {
    for copy in try DatabaseCopy.all(arguments) { try await copy.run() }
  }

  private var arguments: [String] {
    if PostgreSQLEngine.isAddress(to) { return ["--move-from", from, "--store", to] }
    // A file with an address, or the folder of SQLite files. The programs refuse a mistaken address.
    var isFolder: ObjCBool = false
    let isThere = FileManager.default.fileExists(atPath: to, isDirectory: &isFolder)
    let isStore = isThere ? !isFolder.boolValue : PostgreSQLEngine.isMistakenAddress(to)
    return ["--move-from", from] + [isStore ? "--store" : "--data-dir", to]
  }
}

/// The copy of one program's database, made by the program itself in one transaction of the source.
struct DatabaseCopy: Sendable {
  let process: MemberProcess

  /// Returns a copy for each program with a database.
  ///
  /// - Parameter arguments: The source and the target, as settings of the programs.
  static func all(_ arguments: [String]) throws(UsageError) -> [DatabaseCopy] {
    let binaryFolder = URL(fileURLWithPath: try MemberProcess.ownExecutable()).deletingLastPathComponent().path
    let members = SuiteMember.all.filter { $0.role != .peer }
    let printer = LogPrinter(names: members.map(\.name), isColoured: Terminal.isColoured(descriptor: STDERR_FILENO))
    return members.map { member in
      DatabaseCopy(
        process: MemberProcess(
          name: member.name, executable: "\(binaryFolder)/\(member.executable)", arguments: arguments,
          printer: printer))
    }
  }

  /// Throws `UsageError` if the program fails, which has logged why.
  func run() async throws {
    let result = try await process.run { _ in }
    guard result == "exit code 0" else { throw UsageError("\(process.name) was not copied: \(result)") }
  }
}
