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
      the resume tokens that they have. The contents of Sync are copied, too. Signing keys added by call stay in the data
      folder.

        campanile move --from .campanile --to postgresql://campanile@db.example.com
        campanile move --from postgresql://campanile@db.example.com --to .campanile
      """)

  @Option(help: ArgumentHelp("Data folder or PostgreSQL server of the databases.", valueName: "dir|address"))
  var from: String

  @Option(help: ArgumentHelp("Data folder or PostgreSQL server to move to.", valueName: "dir|address"))
  var to: String

  public init() {}

  public func run() async throws {
    let binaryFolder = URL(fileURLWithPath: try MemberProcess.ownExecutable()).deletingLastPathComponent().path
    let members = SuiteMember.all.filter { $0.role != .peer }
    let printer = LogPrinter(names: members.map(\.name), isColoured: Terminal.isColoured(descriptor: STDERR_FILENO))
    for member in members {
      let process = MemberProcess(
        name: member.name, executable: "\(binaryFolder)/\(member.executable)", arguments: arguments, printer: printer)
      let result = try await process.run { _ in }
      guard result == "exit code 0" else { throw UsageError("\(member.name) was not moved: \(result)") }
    }
  }

  private var arguments: [String] {
    if PostgreSQLEngine.isAddress(to) { return ["--move-from", from, "--store", to] }
    // A file with an address, or the folder of SQLite files.
    var isFolder: ObjCBool = false
    let isThere = FileManager.default.fileExists(atPath: to, isDirectory: &isFolder)
    return ["--move-from", from] + (isThere && !isFolder.boolValue ? ["--store", to] : ["--data-dir", to])
  }
}
