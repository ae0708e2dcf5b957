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

/// What the service main takes from the process around it; tests put their own in its place.
struct ServiceEnvironment: Sendable {
  /// Without the program's name.
  var arguments: [String]
  var variables: [String: String]
  var logSink: any LogSink
  /// Whether standard error is a terminal.
  var isTerminal: Bool
  var writeOutput: @Sendable (String) -> Void
  var writeError: @Sendable (String) -> Void
  /// Signals that ask for the end, and SIGHUP that asks for a reload, from now on.
  var signals: @Sendable () async -> AsyncStream<Int32>
  /// Ends the process without further ado.
  var endAtOnce: @Sendable (Int32) -> Void
  /// Makes logging and metrics global; once a process, so tests leave it out.
  var bootstrap: @Sendable (_ logger: @escaping @Sendable (String) -> CampanileLogHandler, MetricsRegistry) -> Void
  /// Puts another server in the place of the RPC server.
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

  /// SIGTERM, SIGINT and SIGHUP as they come. Of more than 64 waiting the oldest are dropped: two of the first kinds decide everything.
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
