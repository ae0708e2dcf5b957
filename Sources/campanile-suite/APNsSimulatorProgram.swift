import APNsSimulator
import CampanileAPI
import CampanileRPC
import CampanileServer
import Logging

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `campanile-apns-simulator`: simulates APNs, enforces Apple's rules, fails on demand, and shows what devices would
/// display.
///
/// Senders connect to `--port` (HTTP/2 over TLS); the control API and the metrics are at `--http-port`, and
/// SimulatorService at `--rpc-port`.
enum APNsSimulatorProgram {
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
  private static let rpcPort = "rpc-port"

  /// Runs the program with the process's arguments, then exits the process.
  static func main() async {
    let settings: [Setting] = [
      .path(keysDir, help: "folder of JSON files with teamId, keyId and publicKeyPem of each accepted key"),
      .choice(
        environment, of: APNsEnvironment.allCases.map(\.rawValue), default: "any", help: "the simulated environment"),
      .string(
        certificateNames, default: "", help: "additional names in a new certificate, such as DNS:apns.test,IP:10.0.0.7"),
      .bool(registeredTokensOnly, help: "reject device tokens that were not registered through the control API"),
      .choice(
        tokenRenewalScope, of: TokenRenewalScope.allCases.map(\.rawValue), default: "connection",
        help: "the scope in which provider token renewals are counted"),
      .int(tokenRenewalSeconds, default: 1200, in: 0...86_400, help: "minimum interval between provider tokens"),
      .int(concurrentStreams, default: 1000, in: 1...100_000, help: "maximum streams per connection"),
      .int(screensMax, default: 1_000_000, in: 1...10_000_000, help: "maximum number of tokens with stored state"),
      .path(journal, help: "file for the state of the devices (default: none, a restart loses it)"),
      .int(journalBytesMax, default: 1 << 30, in: 1 << 20...1 << 40, help: "maximum size of the journal, in bytes"),
      .int(rpcPort, in: 0...65_535, help: "port of SimulatorService; 0 lets the system choose one (default: none)"),
      .int(seed, default: 0, in: 0...Int.max, help: "seed of the random faults"),
    ]
    var specification = ServiceSpecification.program(
      name: "campanile-apns-simulator", defaultPort: 7490, settings: settings + [CommonConfiguration.dataFolder])
    specification.encryptsItself = true
    specification.rpcPortKey = rpcPort
    await ServiceMain.main(specification) { context in try open(context) }
  }

  private static func open(_ context: ServiceContext) throws -> ServiceComponents {
    let settings = context.settings
    var configuration = APNsSimulatorComponent.Configuration(
      host: try settings.string(CommonConfiguration.host), port: try settings.int(CommonConfiguration.port),
      folder: "\(try settings.string(CommonConfiguration.dataDir))/apns-simulator")
    configuration.limits = try limits(settings)
    configuration.certificateNames = try settings.string(certificateNames).split(separator: ",").map(String.init)
    configuration.keysFolder = try settings.optionalString(keysDir)
    configuration.journalPath = try settings.optionalString(journal)
    configuration.journalBytesMax = Int64(try settings.int(journalBytesMax))
    configuration.controlToken = try settings.secret(CommonConfiguration.internalToken).map { secret in
      InternalTokenAuthenticator.presented(secret.reveal())
    }
    configuration.seed = UInt64(try settings.int(seed))
    let component = try APNsSimulatorComponent(
      configuration, group: context.eventLoopGroup, nowMs: { WallClock.nowMs() },
      makeID: { UUID().uuidString.lowercased() })
    context.logger.info(
      "simulating APNs", metadata: ["trust": "\(component.trustFile)", "keys": "\(component.keyCount)"])
    var components = ServiceComponents(descriptorSet: DescriptorSet.serializedBytes)
    components.server = component.server
    components.adminRoutes = [component.adminRoutes]
    components.rpcPort = try settings.optionalInt(rpcPort)
    components.rpcServices = [component.service]
    components.beginDrain = { component.endWatches() }
    return components
  }

  private static func limits(_ settings: Settings) throws -> SimulatorLimits {
    var limits = SimulatorLimits()
    limits.environment = APNsEnvironment(rawValue: try settings.string(environment)) ?? .any
    limits.registeredTokensOnly = try settings.bool(registeredTokensOnly)
    limits.tokenRenewalScope = TokenRenewalScope(rawValue: try settings.string(tokenRenewalScope)) ?? .connection
    limits.tokenRenewalMsMin = Int64(try settings.int(tokenRenewalSeconds)) * 1000
    limits.concurrentStreamsMax = try settings.int(concurrentStreams)
    limits.connectionsMax = try settings.int(CommonConfiguration.maxConnections)
    limits.screensMax = try settings.int(screensMax)
    return limits
  }
}
