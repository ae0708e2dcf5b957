public import ArgumentParser
internal import Foundation

/// `campanile doctor`
public struct DoctorCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Looks at a data folder and this machine, and says what to do. Exit code 1 when something is bad.",
    discussion: """
      Disk, clock, descriptors, file modes, databases, signing keys, ports, and whether Apple can be reached. It changes
      nothing, and can be run while the suite is running.

        campanile doctor --data-dir .campanile
      """)

  @Option(help: ArgumentHelp("Data folder (default: ./.campanile, then ~/.campanile).", valueName: "dir"))
  var dataDir: String?

  @Option(help: "Port of the gateway where no endpoints.json tells it.")
  var portBase = 7400

  @Option(
    help: ArgumentHelp("Where pushes go; may be repeated (default: Apple's two servers).", valueName: "host:port"))
  var apns: [String] = []

  @Flag(help: "Do not look whether pushes can go out.")
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
      pushHosts: offline ? [] : apns.isEmpty ? apple : apns)
    let findings = await Task.detached { doctor.findings() }.value
    let isColoured = Terminal.isColoured(descriptor: STDOUT_FILENO)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    for finding in findings {
      guard output.form == .pretty else {
        try Console.writeLine(try encoder.encode(finding))
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
    let first = "\(mark)  \(finding.check): \(Terminal.printable(finding.detail))"
    return finding.advice.isEmpty ? [first] : [first, "         → \(finding.advice)"]
  }
}
