public import ArgumentParser
internal import Foundation

/// `campanile doctor`
public struct DoctorCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check a data folder and this machine, and suggest remedies. Exit code 1 if a check fails.",
    discussion: """
      Checks the disk, clock, file descriptors, file modes, databases, signing keys and ports, and whether Apple's servers
      can be reached; with --store also the PostgreSQL server. Changes nothing and can run alongside the suite.

        campanile doctor --data-dir .campanile
      """)

  @Option(help: ArgumentHelp("Data folder (default: ./.campanile, then ~/.campanile).", valueName: "dir"))
  var dataDir: String?

  @Option(help: "Port of the gateway if there is no endpoints.json.")
  var portBase = 7400

  @Option(
    help: ArgumentHelp("APNs server to check; may be repeated (default: Apple's two servers).", valueName: "host:port"))
  var apns: [String] = []

  @Option(
    help: ArgumentHelp("PostgreSQL server of the data, as in `campanile up`.", valueName: "postgresql://user@host"))
  var store: String?

  @Flag(help: "Skip the check that APNs servers can be reached.")
  var offline = false

  @OptionGroup var output: OutputOptions

  public init() {}

  public func run() async throws {
    let home = ProcessInfo.processInfo.environment["HOME"]
    let folders = dataDir.map { [$0] } ?? Endpoints.defaultFolders(home: home)
    let folder = folders.first { FileManager.default.fileExists(atPath: $0) } ?? folders[0]
    let apple = ["api.push.apple.com:443", "api.sandbox.push.apple.com:443"]
    let doctor = Doctor(
      folder: folder, endpoints: try Endpoints.read(folder: folder), portBase: portBase,
      pushHosts: offline ? [] : apns.isEmpty ? apple : apns, store: store)
    let findings = await Task.detached { doctor.findings() }.value
    let isColoured = Terminal.isColoured(descriptor: STDOUT_FILENO)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    for finding in findings {
      guard output.form == .pretty else {
        try Console.writeLine(Terminal.printableJSON(try encoder.encode(finding)))
        continue
      }
      for line in Self.lines(finding, isColoured: isColoured) { try Console.writeLine(line) }
    }
    if findings.contains(where: { $0.severity == .bad }) { throw ExitCode(1) }
  }

  static func lines(_ finding: Finding, isColoured: Bool) -> [String] {
    let mark: String
    switch finding.severity {
    case .good: mark = Terminal.Colour.green.paint("good   ", if: isColoured)
    case .warning: mark = Terminal.Colour.yellow.paint("warning", if: isColoured)
    case .bad: mark = Terminal.Colour.red.paint("bad    ", if: isColoured)
    }
    let first = "\(mark)  \(Terminal.printable(finding.check)): \(Terminal.printable(finding.detail))"
    return finding.advice.isEmpty ? [first] : [first, "         → \(Terminal.printable(finding.advice))"]
  }
}
