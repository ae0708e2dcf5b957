internal import Foundation
internal import Subprocess
internal import SystemPackage

/// One life of one process of the suite.
struct MemberProcess: Sendable {
  var name: String
  var executable: String
  var arguments: [String]
  var printer: LogPrinter

  /// Sends a signal to the process, while it lives.
  typealias SignalSender = @Sendable (Int32) -> Void

  /// Runs the process to its end and shows its output line by line. Cancelling kills it.
  ///
  /// - Parameter onStart: is given what sends signals to the process, and `nil` before that must not be used any more.
  /// - Returns: how it ended, in words.
  func run(onStart: @Sendable (SignalSender?) async -> Void) async throws -> String {
    var platform = PlatformOptions()
    // A group of its own, so that Ctrl-C reaches `up` alone, which ends the processes in their order.
    platform.processGroupID = 0
    let own = try Self.ownExecutable()
    let result = try await Subprocess.run(
      .path(FilePath(own)), arguments: Arguments(BoundChild.arguments(executable: executable, arguments)),
      platformOptions: platform, input: .none, output: .sequence, error: .combinedWithOutput
    ) { execution in
      await onStart { signal in try? execution.send(signal: Signal(rawValue: signal)) }
      do {
        try await show(execution.standardOutput)
      } catch {
        // The process ended in the middle of a line.
      }
      await onStart(nil)
    }
    return Self.describe(result.terminationStatus)
  }

  private func show(_ output: SubprocessOutputSequence) async throws {
    var splitter = LineSplitter(lineBytesMax: LogPrinter.lineBytesMax)
    for try await buffer in output {
      for line in buffer.withUnsafeBytes({ splitter.add($0) }) { printer.print(name, line) }
    }
    for line in splitter.finish() { printer.print(name, line) }
  }

  /// This program's own file.
  static func ownExecutable() throws(UsageError) -> String {
    #if os(Linux)
      if let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") { return path }
    #endif
    guard let path = Bundle.main.executablePath else { throw UsageError("cannot find this program's own file") }
    return path
  }

  private static func describe(_ status: TerminationStatus) -> String {
    switch status {
    case .exited(let code): "exit code \(code)"
    case .signaled(let signal): "signal \(signal)"
    }
  }
}
