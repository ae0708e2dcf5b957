import APNsSimulator
import CampanileRPC
import CampanileRuntime
import Logging

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `campanile-apns-simulator`: an APNs that enforces Apple's rules, fails on demand, and shows what devices would display.
///
/// `--port` is that of senders (HTTP/2 over TLS), `--http-port` that of the control API and metrics.
public enum APNsSimulatorProgram {
  private static let keysDir = "keys-dir"
  private static let environment = "environment"
  private static let certificateNames = "certificate-names"
  private static let registeredTokensOnly = "registered-tokens-only"
  private static let tokenRenewalScope = "token-renewal-scope"
  private static let tokenRenewalSeconds = "token-renewal-seconds"
  private static let concurrentStreams = "concurrent-streams-max"
  private static let screensMax = "screens-max"
  private static let journal = "journal"
  private static let journalBytesMax = "journal-bytes-max"
  private static let seed = "seed"

  /// Runs the program with the process's arguments, and ends the process.
  public static func main() async {
    let settings: [Setting] = [
      .path(keysDir, help: "folder of JSON files with teamId, keyId and publicKeyPem of the keys that may push"),
      .choice(
        environment, of: APNsEnvironment.allCases.map(\.rawValue), default: "any", help: "which endpoint this is"),
      .string(
        certificateNames, default: "", help: "more names of a new certificate, such as DNS:apns.test,IP:10.0.0.7"),
      .bool(registeredTokensOnly, help: "refuse device tokens that were not registered by the control API"),
      .choice(
        tokenRenewalScope, of: TokenRenewalScope.allCases.map(\.rawValue), default: "connection",
        help: "where too frequent new provider tokens are counted"),
      .int(tokenRenewalSeconds, default: 1200, in: 0...86_400, help: "how long a provider token must be used"),
      .int(concurrentStreams, default: 1000, in: 1...100_000, help: "streams open at once on a connection"),
      .int(screensMax, default: 1_000_000, in: 1...10_000_000, help: "tokens whose state is kept"),
      .path(journal, help: "file that what devices display is kept in; without one a restart forgets it"),
      .int(journalBytesMax, default: 1 << 30, in: 1 << 20...1 << 40, help: "where the journal ends, in bytes"),
      .int(seed, default: 0, in: 0...Int.max, help: "what random faults follow from"),
    ]
    var specification = ServiceSpecification(name: "campanile-apns-simulator", defaultPort: 7490, settings: settings)
    specification.encryptsItself = true
    await ServiceMain.main(specification) { context in try open(context) }
  }

  private static func open(_ context: ServiceContext) throws -> ServiceComponents {
    let settings = context.settings
    var configuration = APNsSimulatorComponent.Configuration(
      host: try settings.string(CommonSettings.host), port: try settings.int(CommonSettings.port),
      folder: "\(try settings.string(CommonSettings.dataDir))/apns-simulator")
    configuration.limits = try limits(settings)
    configuration.certificateNames = try settings.string(certificateNames).split(separator: ",").map(String.init)
    configuration.keysFolder = try settings.optionalString(keysDir)
    configuration.journalPath = try settings.optionalString(journal)
    configuration.journalBytesMax = Int64(try settings.int(journalBytesMax))
    configuration.controlToken = try settings.secret(CommonSettings.internalToken).map { secret in
      InternalTokenAuthenticator.presented(secret.reveal())
    }
    configuration.seed = UInt64(try settings.int(seed))
    let component = try APNsSimulatorComponent(
      configuration, group: context.eventLoopGroup, nowMs: { WallClock.nowMs() },
      makeID: { UUID().uuidString.lowercased() })
    context.logger.info(
      "simulating APNs", metadata: ["trust": "\(component.trustFile)", "keys": "\(component.keyCount)"])
    var components = ServiceComponents()
    components.server = component.server
    components.adminRoutes = [component.adminRoutes]
    return components
  }

  private static func limits(_ settings: Settings) throws -> SimulatorLimits {
    var limits = SimulatorLimits()
    limits.environment = APNsEnvironment(rawValue: try settings.string(environment)) ?? .any
    limits.registeredTokensOnly = try settings.bool(registeredTokensOnly)
    limits.tokenRenewalScope = TokenRenewalScope(rawValue: try settings.string(tokenRenewalScope)) ?? .connection
    limits.tokenRenewalMsMin = Int64(try settings.int(tokenRenewalSeconds)) * 1000
    limits.concurrentStreamsMax = try settings.int(concurrentStreams)
    limits.connectionsMax = try settings.int(CommonSettings.maxConnections)
    limits.screensMax = try settings.int(screensMax)
    return limits
  }
}
