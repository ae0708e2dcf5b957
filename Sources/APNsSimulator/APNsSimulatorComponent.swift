public import CampanileRuntime
public import NIOCore
import Synchronization

/// The simulator with its sockets, put together: what `campanile-apns-simulator` runs.
public struct APNsSimulatorComponent: Sendable {
  private let simulator: Simulator
  private let apns: APNsServer
  private let control: ControlAPI

  /// What a simulator is made from.
  public struct Configuration: Sendable {
    public var limits = SimulatorLimits()
    public var host: String
    public var port: Int
    /// Of the certificate.
    public var folder: String
    /// More subject alternative names of a new certificate, such as `DNS:apns.test`.
    public var certificateNames: [String] = []
    /// Folder of `*.json` files, each a key as the control API takes it.
    public var keysFolder: String?
    public var journalPath: String?
    public var journalBytesMax: Int64 = 1 << 30
    /// What the control API asks for.
    public var controlToken: String?
    /// What random faults follow from.
    public var seed: UInt64 = 0

    public init(host: String, port: Int, folder: String) {
      self.host = host
      self.port = port
      self.folder = folder
    }
  }

  private let configuration: Configuration

  /// Loads or makes the certificate, loads the keys, and reads the journal. Throws what names the file at fault.
  public init(
    _ configuration: Configuration, group: any EventLoopGroup, nowMs: @escaping @Sendable () -> Int64,
    makeID: @escaping @Sendable () -> String
  ) throws {
    self.configuration = configuration
    simulator = Simulator(limits: configuration.limits, seed: configuration.seed, nowMs: nowMs, makeID: makeID)
    for key in try KeysFolder.read(configuration.keysFolder) { try simulator.add(key) }
    let certificate = try ServerCertificate(
      folder: configuration.folder, additionalNames: configuration.certificateNames)
    // After the certificate, which makes the folder that the journal may be in.
    if let path = configuration.journalPath {
      let journal = try Journal(path: path, sizeBytesMax: configuration.journalBytesMax)
      simulator.resume(journal)
    }
    apns = APNsServer(
      simulator: simulator, tls: certificate.context, untrustedTLS: try ServerCertificate.untrusted(), group: group)
    control = ControlAPI(simulator: simulator, server: apns, token: configuration.controlToken)
  }

  /// What senders are to trust.
  public var trustFile: String { "\(configuration.folder)/\(ServerCertificate.trustFile)" }
  public var keyCount: Int { simulator.state.withLock { $0.keyring.count } }
  public var adminRoutes: AdminRoutes { control.routes }
  public var server: any DrainableServer { Listener(server: apns, configuration: configuration) }

  private struct Listener: DrainableServer {
    let server: APNsServer
    let configuration: Configuration

    func start() async throws -> Int { try await server.start(host: configuration.host, port: configuration.port) }
    func drain(timeoutMs: Int64) async { await server.drain(timeoutMs: timeoutMs) }
    func shutdown() async { await server.shutdown() }
  }
}
