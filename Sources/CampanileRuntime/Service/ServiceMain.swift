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

/// The main of every executable of the suite.
///
/// It reads the settings, sets up logging and metrics, opens the executable's components, serves until SIGTERM or
/// SIGINT, and drains: health turns NOT_SERVING, the server refuses new calls, open ones finish within
/// `drain-timeout-ms`, background services end, stores are closed. A second signal ends the process at once. SIGHUP has settings,
/// certificates and keys read again, as a change of their files has.
///
/// Exit codes: 0 after a drain, `--help`, `--version` and `--print-config`; 78 (`EX_CONFIG`) for a configuration that
/// cannot be used; 1 for any other failure; 128 + the signal's number after a second signal. A failure is one line on
/// standard error.
public enum ServiceMain {
  /// Makes the components of an executable. What it throws ends the start: a `ConfigurationError` with 78.
  public typealias Open = @Sendable (ServiceContext) async throws -> ServiceComponents

  static let exitConfiguration: Int32 = 78

  /// Runs the executable and ends the process.
  public static func main(_ specification: ServiceSpecification, open: @escaping Open) async -> Never {
    // Writing to a peer that has gone must be an error of that connection, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    exit(await run(specification, environment: .live(), open: open))
  }

  /// Runs the executable and answers the exit code.
  static func run(
    _ specification: ServiceSpecification, environment: ServiceEnvironment, open: @escaping Open
  ) async -> Int32 {
    do {
      let loader = SettingsLoader(
        executable: specification.name,
        settings: CommonSettings.all(defaultPort: specification.defaultPort) + specification.settings)
      switch try loader.load(arguments: environment.arguments, environment: environment.variables) {
      case .print(let text):
        environment.writeOutput(text)
      case .run(let settings) where try settings.bool(CommonSettings.planMigrations):
        let plan = try specification.planMigrations?(try settings.string(CommonSettings.dataDir))
        environment.writeOutput((plan ?? "no database") + "\n")
      case .run(let settings):
        try specification.check(settings)
        let reload: @Sendable () throws -> Settings = {
          let again = try loader.load(arguments: environment.arguments, environment: environment.variables)
          guard case .run(let settings) = again else { throw StartupError("the command line asks for no run") }
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
