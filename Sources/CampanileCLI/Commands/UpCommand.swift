public import ArgumentParser
internal import Foundation
internal import UnixSignals

/// `campanile up`
public struct UpCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "up",
    abstract: "Runs the whole suite on this machine until Ctrl-C.",
    discussion: """
      Starts every service and the gateway, starts again what dies, and writes DIR/endpoints.json (mode 0600) when all are
      ready. Ctrl-C or SIGTERM lets open calls finish, the gateway's first, and ends everything within 15 s; a second
      signal ends it at once.
      """)

  @Option(help: ArgumentHelp("Folder of databases, keys and endpoints.json.", valueName: "dir"))
  var dataDir = ".campanile"

  @Option(help: "Port of the gateway; the others follow it. 0 lets the system pick every port.")
  var portBase = 7400

  @Flag(help: "Load the sample through the gateway: users with notifications and a phone each, and a lodge.")
  var demo = false

  @Option(help: ArgumentHelp("Sample to load instead of the one that comes along.", valueName: "file"))
  var sample: String?

  @Option(help: "Least severe level that the services log.")
  var logLevel = "info"

  @Option(help: "What an acknowledged write survives: full (power loss) or normal (a crash).")
  var durability = "full"

  @Option(
    help: ArgumentHelp(
      """
      APNs server in place of the simulator, which is then not started. May be repeated; environments that are not named go \
      where the first goes.
      """,
      valueName: "environment=host:port"))
  var apnsEndpoint: [String] = []

  @Option(help: ArgumentHelp("PEM file of what that server is trusted by.", valueName: "file"))
  var apnsTrust: String?

  public init() {}

  public func validate() throws {
    guard portBase == 0 || (1024...65_000).contains(portBase) else {
      throw ValidationError("--port-base must be 0, or 1024 to 65000.")
    }
    guard ["full", "normal"].contains(durability) else {
      throw ValidationError("--durability must be full or normal.")
    }
    guard apnsTrust == nil || !apnsEndpoint.isEmpty else {
      throw ValidationError("--apns-trust needs --apns-endpoint.")
    }
  }

  public func run() async throws {
    let folder = URL(fileURLWithPath: dataDir).standardizedFileURL.path
    let plan = try plan(folder)
    try Self.checkExecutables(plan)
    try PrivateFile.makeFolder(folder)
    let lock = try SuiteLock(folder: folder)
    try PrivateFile.makeFolder(plan.runFolder)
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
      try Console.writeLine("Campanile is up: \(Self.summary(plan, ports)); keys in \(endpointsFile)")
    }
    // The lock is held until here.
    _ = consume lock
  }

  private func plan(_ folder: String) throws -> SuitePlan {
    var plan = SuitePlan(
      binaryFolder: URL(fileURLWithPath: try MemberProcess.ownExecutable()).deletingLastPathComponent().path,
      dataFolder: folder, portBase: portBase, logLevel: logLevel, durability: durability, apns: try apnsServers())
    try plan.promisePorts(PromisedPort.pick)
    return plan
  }

  /// What the simulator's devices display is kept from run to run until it would take long to read back.
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

  /// Runs the suite until a signal. A second one ends this process, and with it its children, at once.
  private static func untilSignal(
    _ supervisor: Supervisor, onReady: @escaping @Sendable ([String: MemberPorts]) async throws -> Void
  ) async throws {
    let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm, .sighup)
    let watch = Task {
      var count = 0
      for await signal in signals {
        count += 1
        if count == 1 {
          Console.note("stopping: open calls may finish; once more to end at once")
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

  private static func summary(_ plan: SuitePlan, _ ports: [String: MemberPorts]) -> String {
    plan.members.reversed().compactMap { member in
      ports[member.name].map { "\(member.name) on 127.0.0.1:\($0.rpc) (HTTP \($0.http))" }
    }.joined(separator: ", ")
  }

  private static func checkExecutables(_ plan: SuitePlan) throws(UsageError) {
    for member in plan.members {
      let path = plan.executable(of: member)
      guard FileManager.default.isExecutableFile(atPath: path) else {
        throw UsageError("\(path) does not exist: build the whole suite, for example with scripts/run")
      }
    }
  }
}

/// The secret that the suite's processes show one another.
enum InternalToken {
  /// The token in the file at `path`, which is made with 256 random bits when it is missing.
  static func ensure(_ path: String) throws -> String {
    if FileManager.default.fileExists(atPath: path) { return try read(path) }
    var generator = SystemRandomNumberGenerator()
    let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    let token = Data(bytes).base64EncodedString()
      .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    try PrivateFile.write(Data((token + "\n").utf8), to: path)
    return token
  }

  /// The one word in the file. Throws `UsageError` when there is none.
  static func read(_ path: String) throws(UsageError) -> String {
    guard let data = FileManager.default.contents(atPath: path), data.count <= 4096,
      case let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines),
      !text.isEmpty
    else { throw UsageError("cannot read a secret from \(path)") }
    return text
  }
}
