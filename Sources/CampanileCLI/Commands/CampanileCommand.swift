public import ArgumentParser
import CampanileBase
internal import CampanileRPC
internal import Foundation

/// `campanile`, the root command.
public struct CampanileCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "campanile",
    abstract: "Run the Campanile suite on this machine and call its services.",
    discussion: """
      The exit code of a failed call is its gRPC status number (5 is NOT_FOUND); that of incorrect usage is 64.
      """,
    version: "campanile 0.1.0",
    subcommands: [
      UpCommand.self, CallCommand.self, WatchCommand.self, ListCommand.self, DescribeCommand.self, HealthCommand.self,
      KeysCommand.self, ConsoleCommand.self, LoadCommand.self, TopCommand.self, BackupCommand.self, VerifyCommand.self,
      RestoreCommand.self, MoveCommand.self, DoctorCommand.self,
    ])

  public init() {}

  /// Runs the command line.
  ///
  /// - Parameter arguments: The arguments, without the program's name.
  /// - Returns: The exit code.
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

  /// Writes an error to standard error, or the requested help to standard output.
  ///
  /// - Returns: The exit code.
  static func report(_ error: any Error) -> Int32 {
    let isColoured = Terminal.isColoured(descriptor: STDERR_FILENO)
    switch error {
    case let error as RPCError:
      for line in ErrorReport.lines(for: error, isColoured: isColoured) { Console.note(line) }
      return ErrorReport.exitCode(for: error)
    case let error as UsageError:
      Console.note("campanile: \(Terminal.printable(error.description, except: ["\t", "\n"]))")
      return UsageError.exitCode
    case let error as NameError:
      Console.note("campanile: \(Terminal.printable(error.description, except: ["\t", "\n"]))")
      return UsageError.exitCode
    case is ThresholdsMissed: return ThresholdsMissed.exitCode
    case let error as POSIXError where error.code == .EPIPE:
      // The reader of the output has closed the pipe.
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
