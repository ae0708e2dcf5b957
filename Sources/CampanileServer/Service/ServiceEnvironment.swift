import CampanileRPC
import Logging
import Metrics
import Synchronization
import UnixSignals

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The process environment of the service main, replaceable in tests.
struct ServiceEnvironment: Sendable {
  /// The command-line arguments, without the program's name.
  var arguments: [String]
  var variables: [String: String]
  var logSink: any LogSink
  /// Whether standard error is a terminal.
  var isTerminal: Bool
  var writeOutput: @Sendable (String) -> Void
  var writeError: @Sendable (String) -> Void
  /// Traps signals and returns those that arrive from now on: requests to end, and SIGHUP for a reload.
  var signals: @Sendable () async -> AsyncStream<Int32>
  /// Ends the process immediately.
  var endAtOnce: @Sendable (Int32) -> Void
  /// Installs the global logging and metrics systems. Tests skip this, because it is possible only once per process.
  var bootstrap: @Sendable (_ logger: @escaping @Sendable (String) -> CampanileLogHandler, MetricsRegistry) -> Void
  /// Replaces the RPC server by another server.
  var replaceServer: (@Sendable (RPCServer) -> any DrainableServer)?

  static func live() -> ServiceEnvironment {
    ServiceEnvironment(
      arguments: Array(CommandLine.arguments.dropFirst()),
      variables: ProcessInfo.processInfo.environment,
      logSink: StandardErrorSink(),
      isTerminal: isatty(2) == 1,
      writeOutput: { StandardErrorSink(descriptor: 1).write(Array($0.utf8)) },
      writeError: { StandardErrorSink().write(Array($0.utf8)) },
      signals: { await trapSignals() },
      endAtOnce: { _exit($0) },
      bootstrap: { makeHandler, registry in
        LoggingSystem.bootstrap { makeHandler($0) }
        MetricsSystem.bootstrap(registry)
      })
  }

  /// Returns SIGTERM, SIGINT and SIGHUP as they arrive. Beyond 64 pending signals, the oldest are dropped.
  ///
  /// Dropping is harmless, because the second SIGTERM or SIGINT ends the process.
  private static func trapSignals() async -> AsyncStream<Int32> {
    let sequence = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
    let (stream, continuation) = AsyncStream.makeStream(of: Int32.self, bufferingPolicy: .bufferingNewest(64))
    let task = Task {
      for await signal in sequence { continuation.yield(signal.rawValue) }
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }
}
