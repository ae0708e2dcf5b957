public import ArgumentParser
import CampanileBase
internal import CampanilePostgreSQL
internal import CampanileRPC
internal import CampanileStore
internal import Foundation
internal import UnixSignals

/// `campanile up`
public struct UpCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "up",
    abstract: "Run the whole suite on this machine until Ctrl-C.",
    discussion: """
      Starts every service and the gateway, restarts processes that die, and writes DIR/endpoints.json (mode 0600) when all
      are ready. Ctrl-C or SIGTERM drains open calls, first those of the gateway, and ends everything within 15 s; a second
      signal ends it immediately. SIGUSR1 restarts the processes one after another, such as for a new version of the
      programs: with --replicas, the others serve meanwhile.
      """)

  @Option(help: ArgumentHelp("Folder for databases, keys and endpoints.json.", valueName: "dir"))
  var dataDir = ".campanile"

  @Option(help: "Port of the gateway; the other ports follow it. 0 lets the system choose every port.")
  var portBase = 7400

  @Flag(help: "Load sample data through the gateway: users, each with notifications and a phone, and a lodge.")
  var demo = false

  @Option(help: ArgumentHelp("Custom sample file to load (default with --demo: bundled).", valueName: "file"))
  var sample: String?

  @Option(help: "Minimum log level of the services.")
  var logLevel = "info"

  @Option(help: "Durability of acknowledged writes: full (survives power loss) or normal (survives a crash).")
  var durability = "full"

  @Option(
    help: ArgumentHelp(
      """
      PostgreSQL server of the data instead of SQLite files, or a file with its address. Each service uses its own \
      database there, such as campanile_sync.
      """,
      valueName: "postgresql://user@host"))
  var store: String?

  @Option(help: "Number of processes of each service and of the gateway, 1 to 9. More than one needs --store.")
  var replicas = 1

  @Option(
    help: ArgumentHelp(
      """
      APNs server to use instead of the simulator, which is then not started. May be repeated; environments without a \
      server use the first one.
      """,
      valueName: "environment=host:port"))
  var apnsEndpoint: [String] = []

  @Option(help: ArgumentHelp("CA certificates (PEM) for that server.", valueName: "file"))
  var apnsTrust: String?

  public init() {}

  public func validate() throws {
    guard portBase == 0 || (1024...65_000).contains(portBase) else {
      throw ValidationError("--port-base must be 0, or 1024 to 65000.")
    }
    guard ["full", "normal"].contains(durability) else {
      throw ValidationError("--durability must be full or normal.")
    }
    if let store { try Self.checkStore(store) }
    guard (1...9).contains(replicas) else { throw ValidationError("--replicas must be 1 to 9.") }
    guard replicas == 1 || store != nil else {
      throw ValidationError("--replicas needs --store, because one process owns a SQLite file.")
    }
    guard apnsTrust == nil || !apnsEndpoint.isEmpty else {
      throw ValidationError("--apns-trust needs --apns-endpoint.")
    }
  }

  public func run() async throws {
    let folder = URL(fileURLWithPath: dataDir).standardizedFileURL.path
    let plan = try plan(folder)
    try Self.checkExecutables(plan)
    try PrivateFolder.make(folder)
    let lock = try SuiteLock(folder: folder)
    try PrivateFolder.make(plan.runFolder)
    Self.shortenJournal(plan.simulatorJournal)
    let endpointsFile = folder + "/" + Endpoints.fileName
    unlink(endpointsFile)
    defer { unlink(endpointsFile) }
    let token = try InternalToken.ensure(plan.internalTokenFile)
    let apns = try DevelopmentSigningKey.ensure(plan.apnsFolder)
    let sampleFile = demo ? try sample ?? SampleFile.defaultPath() : sample
    let printer = LogPrinter(
      names: plan.members.map(\.name) + ["up"], isColoured: Terminal.isColoured(descriptor: STDERR_FILENO))
    let supervisor = Supervisor(plan: plan, printer: printer)
    try await Self.untilSignal(supervisor) { ports in
      let endpoints = try Self.endpoints(plan, ports, token, apns)
      if let sampleFile {
        let loader = try SampleLoader(endpoints: endpoints, dataFolder: folder)
        for line in try await loader.load(try SampleFile.read(sampleFile)) { try Console.writeLine(line) }
      }
      try endpoints.write(folder: folder)
      if let link = await Self.consoleLink(endpoints) { try Console.writeLine("Console: \(link) (once, within 60 s)") }
      try Console.writeLine("Campanile is up: \(Self.summary(plan, ports)); keys in \(endpointsFile)")
    }
    // Hold the lock until here.
    _ = consume lock
  }

  private func plan(_ folder: String) throws -> SuitePlan {
    var plan = SuitePlan(
      binaryFolder: URL(fileURLWithPath: try MemberProcess.ownExecutable()).deletingLastPathComponent().path,
      dataFolder: folder, portBase: portBase, logLevel: logLevel, durability: durability, store: store,
      apns: try apnsServers(), replicas: replicas)
    try plan.promisePorts(PromisedPort.pick)
    return plan
  }

  /// The services connect to the server and report what is wrong there.
  private static func checkStore(_ store: String) throws(ValidationError) {
    let unnamed = "-"
    do {
      guard try PostgreSQLEngine(store, defaultDatabase: unnamed).database != unnamed else { return }
    } catch {
      throw ValidationError(error.path.map { "\(error.message) (\($0))" } ?? error.message)
    }
    throw ValidationError("--store must not name a database, because each service uses its own.")
  }

  /// Removes the simulator's journal of device displays once it exceeds 64 MiB, because reading it back takes long.
  private static func shortenJournal(_ path: String) {
    let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    if size > 64 << 20 { unlink(path) }
  }

  private func apnsServers() throws -> APNsServers? {
    guard !apnsEndpoint.isEmpty else { return nil }
    let trustFile = apnsTrust.map { URL(fileURLWithPath: $0).standardizedFileURL.path }
    if let trustFile, !FileManager.default.isReadableFile(atPath: trustFile) {
      throw UsageError("cannot read \(trustFile)")
    }
    return try APNsServers(apnsEndpoint, trustFile: trustFile)
  }

  /// Runs the suite until a signal arrives. A second signal ends this process and its children immediately. SIGUSR1
  /// restarts the processes one after another.
  private static func untilSignal(
    _ supervisor: Supervisor, onReady: @escaping @Sendable ([String: MemberPorts]) async throws -> Void
  ) async throws {
    let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm, .sighup, .sigusr1)
    let watch = Task {
      var count = 0
      for await signal in signals {
        if signal == .sigusr1 {
          Task { await supervisor.restartInTurn() }
          continue
        }
        count += 1
        if count == 1 {
          Console.note("stopping after open calls finish; press Ctrl-C again to stop immediately")
          await supervisor.requestStop()
        } else {
          await supervisor.kill()
          _exit(signal == .sigint ? 130 : 143)
        }
      }
    }
    defer { watch.cancel() }
    try await supervisor.run(onReady: onReady)
  }

  private static func endpoints(
    _ plan: SuitePlan, _ ports: [String: MemberPorts], _ token: String, _ apns: Endpoints.APNs
  ) throws -> Endpoints {
    var services: [String: Endpoints.Service] = [:]
    var apns = apns
    for member in plan.members {
      guard let found = ports[member.name] else { continue }
      if member.role == .peer {
        apns.simulator = .init(
          apns: found.rpc, control: found.http, trustFile: plan.simulatorTrustFile)
        continue
      }
      var service = Endpoints.Service(rpc: found.rpc, http: found.http, admin: found.admin)
      if member.isGateway { service.adminKey = try InternalToken.read(plan.adminKeyFile) }
      services[member.name] = service
    }
    return Endpoints(services: services, internalToken: token, apns: apns)
  }

  /// Returns a one-use link to the console; nil if the gateway gives none.
  private static func consoleLink(_ endpoints: Endpoints) async -> String? {
    guard let gateway = endpoints.services["gateway"], let key = gateway.adminKey,
      let server = try? ServiceConnection(Destination(host: "127.0.0.1", port: gateway.rpc, token: key))
    else { return nil }
    return try? await ConsoleLink.create(
      server.client, origin: "http://127.0.0.1:\(gateway.http)",
      options: CallOptions(timeoutMs: 5_000, waitForReady: true))
  }

  private static func summary(_ plan: SuitePlan, _ ports: [String: MemberPorts]) -> String {
    plan.members.reversed().compactMap { member in
      ports[member.name].map { "\(member.name) on 127.0.0.1:\($0.rpc) (HTTP \($0.http))" }
    }.joined(separator: ", ")
  }

  private static func checkExecutables(_ plan: SuitePlan) throws(UsageError) {
    for member in plan.members {
      let path = plan.executable(of: member)
      guard FileManager.default.isExecutableFile(atPath: path) else {
        throw UsageError("\(path) does not exist: build the entire suite, for example with scripts/run")
      }
    }
  }
}

/// The secret with which the suite's processes authenticate one another.
enum InternalToken {
  /// Returns the token in the file at `path`. Creates the file with 256 random bits if it is missing.
  static func ensure(_ path: String) throws -> String {
    if FileManager.default.fileExists(atPath: path) { return try read(path) }
    var generator = SystemRandomNumberGenerator()
    let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    let token = Data(bytes).base64EncodedString()
      .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    try PrivateFile.write(Data((token + "\n").utf8), to: path)
    return token
  }

  /// Returns the contents of the file without surrounding white space.
  ///
  /// - Throws: `UsageError` if the file cannot be read, is empty, or exceeds 4096 bytes.
  static func read(_ path: String) throws(UsageError) -> String {
    guard let data = FileManager.default.contents(atPath: path), data.count <= 4096,
      case let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines),
      !text.isEmpty
    else { throw UsageError("cannot read a secret from \(path)") }
    return text
  }
}
