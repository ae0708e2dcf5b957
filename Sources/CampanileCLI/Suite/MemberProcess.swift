internal import Foundation
internal import Subprocess
internal import SystemPackage

/// One run of a process of the suite, from start to exit.
struct MemberProcess: Sendable {
  var name: String
  var executable: String
  var arguments: [String]
  var printer: LogPrinter

  /// Sends a signal to the process while it runs.
  typealias SignalSender = @Sendable (Int32) -> Void

  /// Runs the process until it exits and prints its output line by line. Cancellation kills the process.
  ///
  /// - Parameter onStart: Receives the sender of signals when the process has started, and nil when its output ends.
  ///   The sender must not be used after that.
  /// - Returns: The exit code or signal, in words.
  func run(onStart: @Sendable (SignalSender?) async -> Void) async throws -> String {
    var platform = PlatformOptions()
    // A separate process group, so that Ctrl-C reaches only `up`, which stops the processes in order.
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
        // The process exited in the middle of a line.
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

  /// Determined once, because another version may take the place of the running program.
  private static let executablePath: String? = {
    #if os(Linux)
      if let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") { return path }
    #endif
    return Bundle.main.executablePath
  }()

  /// Returns the path of this program's executable.
  static func ownExecutable() throws(UsageError) -> String {
    guard let executablePath else { throw UsageError("cannot find the executable of this program") }
    return executablePath
  }

  private static func describe(_ status: TerminationStatus) -> String {
    switch status {
    case .exited(let code): "exit code \(code)"
    case .signaled(let signal): "signal \(signal)"
    }
  }
}
