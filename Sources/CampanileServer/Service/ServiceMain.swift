import CampanileRPC
import Logging
import Metrics
import ServiceLifecycle

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The entry point of a service.
///
/// It reads the settings, sets up logging and metrics, opens the executable's components, and serves until SIGTERM or
/// SIGINT. Then it drains: health becomes NOT_SERVING, the server rejects new calls, and open calls finish within
/// `drain-timeout-ms`. Finally, background services end and stores are closed.
///
/// A second signal ends the process immediately. SIGHUP, or a change of their files, reloads settings, certificates and
/// keys.
///
/// Exit codes: 0 after a drain, `--help`, `--version` and `--print-config`; 78 (`EX_CONFIG`) for an invalid
/// configuration; 1 for any other failure; 128 + the signal's number after a second signal. A failure is reported as
/// one line on standard error.
public enum ServiceMain {
  /// Creates the components of an executable. An error ends the start, with exit code 78 for a `ConfigurationError`.
  public typealias Open = @Sendable (ServiceContext) async throws -> ServiceComponents

  static let exitConfiguration: Int32 = 78

  /// Runs the executable and ends the process.
  public static func main(_ specification: ServiceSpecification, open: @escaping Open) async -> Never {
    // Writing to a closed connection must fail with an error instead of ending the process.
    signal(SIGPIPE, SIG_IGN)
    exit(await run(specification, environment: .live(), open: open))
  }

  /// Runs the executable and returns the exit code.
  static func run(
    _ specification: ServiceSpecification, environment: ServiceEnvironment, open: @escaping Open
  ) async -> Int32 {
    do {
      let loader = SettingsLoader(
        executable: specification.name, version: specification.version,
        environmentPrefix: specification.environmentPrefix,
        settings: CommonConfiguration.all(defaultPort: specification.defaultPort) + specification.settings)
      switch try loader.load(arguments: environment.arguments, environment: environment.variables) {
      case .print(let text):
        environment.writeOutput(text)
      case .run(let settings):
        if let text = try specification.task?(settings) {
          environment.writeOutput(text + "\n")
          return 0
        }
        try specification.check(settings)
        let reload: @Sendable () throws -> Settings = {
          let again = try loader.load(arguments: environment.arguments, environment: environment.variables)
          guard case .run(let settings) = again else { throw StartupError("the command line does not request a run") }
          try specification.check(settings)
          return settings
        }
        try await ServiceRun(specification, settings: settings, environment: environment, reload: reload).run(open)
      }
      return 0
    } catch let error as ConfigurationError {
      environment.writeError("\(specification.name): \(error.message.singleLine)\n")
      return exitConfiguration
    } catch {
      environment.writeError("\(specification.name): \(String(describing: error).singleLine)\n")
      return 1
    }
  }
}
