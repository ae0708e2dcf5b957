public import CampanileRPC
public import CampanileServer
import CampanileService
public import NIOCore
import Synchronization

/// The complete simulator with its servers, as run by `campanile-apns-simulator`.
public struct APNsSimulatorComponent: Sendable {
  private let simulator: Simulator
  private let apns: APNsServer
  private let control: ControlAPI

  /// The configuration of a simulator.
  public struct Configuration: Sendable {
    public var limits = SimulatorLimits()
    public var host: String
    public var port: Int
    /// Folder of the certificate.
    public var folder: String
    /// Additional subject alternative names of a new certificate, such as `DNS:apns.test`.
    public var certificateNames: [String] = []
    /// Folder of `*.json` files, each with a key in the format of the control API.
    public var keysFolder: String?
    public var journalPath: String?
    public var journalBytesMax: Int64 = 1 << 30
    /// Bearer token for the control API; nil disables authentication.
    public var controlToken: String?
    /// Seed of random faults.
    public var seed: UInt64 = 0

    public init(host: String, port: Int, folder: String) {
      self.host = host
      self.port = port
      self.folder = folder
    }
  }

  private let configuration: Configuration

  /// Loads or creates the certificate, loads the keys, and reads the journal. Errors name the invalid file.
  public init(
    _ configuration: Configuration, group: any EventLoopGroup, nowMs: @escaping @Sendable () -> Int64,
    makeID: @escaping @Sendable () -> String
  ) throws {
    self.configuration = configuration
    simulator = Simulator(limits: configuration.limits, seed: configuration.seed, nowMs: nowMs, makeID: makeID)
    for key in try KeysFolder.read(configuration.keysFolder) { try simulator.add(key) }
    let certificate = try ServerCertificate(
      folder: configuration.folder, additionalNames: configuration.certificateNames)
    // After the certificate, because that creates the folder that may contain the journal.
    if let path = configuration.journalPath {
      let journal = try Journal(path: path, sizeBytesMax: configuration.journalBytesMax)
      simulator.resume(journal)
    }
    apns = APNsServer(
      simulator: simulator, tls: certificate.context, untrustedTLS: try ServerCertificate.untrusted(), group: group)
    control = ControlAPI(simulator: simulator, server: apns, token: configuration.controlToken)
  }

  /// PEM file of the CA certificate for senders to trust.
  public var trustFile: String { "\(configuration.folder)/\(ServerCertificate.trustFile)" }
  public var keyCount: Int { simulator.state.withLock { $0.keyring.count } }
  public var adminRoutes: AdminRoutes { control.routes }
  /// The RPC service, which shows and changes the same state as the control API.
  public var service: any RPCService { SimulatorService(simulator: simulator) }
  /// Ends the watches with UNAVAILABLE so that a drain does not wait for them.
  public func endWatches() { simulator.hub.close() }
  package var server: any DrainableServer { Listener(server: apns, configuration: configuration) }

  private struct Listener: DrainableServer {
    let server: APNsServer
    let configuration: Configuration

    func start() async throws -> Int { try await server.start(host: configuration.host, port: configuration.port) }
    func drain(timeoutMs: Int64) async -> Bool { await server.drain(timeoutMs: timeoutMs) }
    func shutdown() async { await server.shutdown() }
  }
}
