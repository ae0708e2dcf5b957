public import ArgumentParser
internal import CampanileRPC
internal import Foundation

/// The command `campanile`.
public struct CampanileCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "campanile",
    abstract: "Runs the Campanile suite on this machine and calls its services.",
    discussion: """
      A failed call ends with the number of its gRPC status as exit code (5 is NOT_FOUND), wrong usage with 64.
      """,
    version: "campanile 0.1.0",
    subcommands: [
      UpCommand.self, CallCommand.self, WatchCommand.self, ListCommand.self, DescribeCommand.self, HealthCommand.self,
      KeysCommand.self, LoadCommand.self, TopCommand.self, BackupCommand.self, VerifyCommand.self, RestoreCommand.self,
      DoctorCommand.self,
    ])

  public init() {}

  /// Runs the command line `arguments`, which are without the program's name, and answers the exit code.
  public static func run(_ arguments: [String]) async -> Int32 {
    do {
      var command = try await asyncParseAsRoot(arguments)
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
      return 0
    } catch {
      return report(error)
    }
  }

  /// Tells what went wrong on standard error, or shows the help that was asked for, and answers the exit code.
  static func report(_ error: any Error) -> Int32 {
    let isColoured = Terminal.isColoured(descriptor: STDERR_FILENO)
    switch error {
    case let error as RPCError:
      for line in ErrorReport.lines(for: error, isColoured: isColoured) { Console.note(line) }
      return ErrorReport.exitCode(for: error)
    case let error as UsageError:
      Console.note("campanile: \(error)")
      return UsageError.exitCode
    case let error as NameError:
      Console.note("campanile: \(error)")
      return UsageError.exitCode
    case is ThresholdsMissed: return ThresholdsMissed.exitCode
    case let error as POSIXError where error.code == .EPIPE:
      // Whoever read the output has had enough.
      return 0
    default:
      let code = exitCode(for: error).rawValue
      let text = fullMessage(for: error)
      if !text.isEmpty {
        if code == 0 { try? Console.writeLine(text) } else { Console.note(text) }
      }
      return code
    }
  }
}
