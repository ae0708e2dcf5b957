/// An executable of the suite, as `campanile up` runs it.
public struct SuiteMember: Sendable, Hashable {
  /// The short name in `endpoints.json`, and in log lines.
  public var name: String
  /// File name of the executable, in the folder of `campanile`.
  public var executable: String
  /// Difference between its RPC port and the port base.
  public var portOffset: Int
  /// Difference between its HTTP port and its RPC port.
  public var httpOffset: Int
  public var role = Role.service
  /// Names of the members that must be ready before it starts. The gateway waits for all others.
  public var after: [String] = []
  /// The flags for the addresses of other members, by member name. Members may call one another, so neither waits.
  public var links: [String: String] = [:]

  /// The role of a member in the suite.
  public enum Role: Sendable, Hashable {
    /// The gateway forwards to it.
    case service
    /// It starts last and stops first.
    case gateway
    /// It simulates an external server, whose protocol it speaks on its first port.
    case peer
  }

  /// The name of its RPC service in the gateway's list of backends, if it serves one on a second port.
  public var serviceName: String?

  /// The name of the first process of the executable, if this is a further one.
  public var replicaOf: String?

  /// The name in the gateway's list of backends, which all processes of the executable share.
  var backend: String { replicaOf ?? name }

  /// Returns a further process of the executable, which uses the same database.
  ///
  /// - Parameter number: From 2.
  func replica(_ number: Int) -> SuiteMember {
    var member = self
    member.name = "\(name)-\(number)"
    member.replicaOf = name
    member.portOffset += Self.replicaOffset * (number - 1)
    // The first gateway creates the administrator's key.
    if isGateway { member.after.append(name) }
    return member
  }

  /// Difference between the ports of successive replicas.
  private static let replicaOffset = 1_000

  public var isGateway: Bool { role == .gateway }

  /// Returns the database of a member on a server whose address names none.
  public static func database(_ name: String) -> String { "campanile_\(name)" }

  /// All executables that `up` runs, in start order.
  public static let all = [
    SuiteMember(
      name: "notifications", executable: "campanile-notifications", portOffset: 1, httpOffset: 100,
      links: ["activities": "--activities-address"]),
    simulator,
    SuiteMember(
      name: "activities", executable: "campanile-activities", portOffset: 2, httpOffset: 100, after: [simulator.name],
      links: ["notifications": "--notifications-address"]),
    SuiteMember(
      name: "sync", executable: "campanile-sync", portOffset: 3, httpOffset: 100,
      links: ["notifications": "--notifications-address", "activities": "--activities-address"]),
    SuiteMember(
      name: "attendance", executable: "campanile-attendance", portOffset: 4, httpOffset: 100,
      links: ["notifications": "--notifications-address", "activities": "--activities-address"]),
    SuiteMember(name: "gateway", executable: "campanile-gateway", portOffset: 0, httpOffset: 80, role: .gateway),
  ]

  /// The APNs simulator.
  static let simulator = SuiteMember(
    name: "apns-simulator", executable: "campanile-apns-simulator", portOffset: 90, httpOffset: 100, role: .peer,
    serviceName: "simulator")
}

/// The ports that a process listens on. With 0, the system chooses the port.
public struct MemberPorts: Sendable, Hashable, Codable {
  public var rpc: Int
  public var http: Int
  /// The admin port, if there is one.
  public var admin: Int?
  /// The port of the RPC service of a `SuiteMember.Role.peer`, if there is one.
  public var service: Int?

  public init(rpc: Int, http: Int, admin: Int? = nil, service: Int? = nil) {
    self.rpc = rpc
    self.http = http
    self.admin = admin
    self.service = service
  }
}

/// The configuration of a suite that `up` starts.
public struct SuitePlan: Sendable, Hashable {
  public var members: [SuiteMember]
  /// The folder of the executables.
  public var binaryFolder: String
  public var dataFolder: String
  /// First port of the suite. With 0, the system chooses every port.
  public var portBase: Int
  public var logLevel: String
  public var durability: String
  /// The server of all databases, as the services' `--store` takes it. Nil for SQLite files in the data folder.
  public var store: String?
  /// APNs servers to use instead of the simulator.
  public var apns: APNsServers?
  /// Reserved ports of the members that others link to, by name; used only if the system chooses the ports.
  private var promised: [String: MemberPorts] = [:]

  /// - Parameter replicas: The number of processes of each service and of the gateway.
  public init(
    members: [SuiteMember] = SuiteMember.all, binaryFolder: String, dataFolder: String, portBase: Int,
    logLevel: String = "info", durability: String = "full", store: String? = nil, apns: APNsServers? = nil,
    replicas: Int = 1
  ) {
    self.apns = apns
    self.members = members.filter { apns == nil || $0.role != .peer }.flatMap { member in
      [member] + (member.role == .peer ? [] : (1..<max(1, replicas)).map { member.replica($0 + 1) })
    }
    self.binaryFolder = binaryFolder
    self.dataFolder = dataFolder
    self.portBase = portBase
    self.logLevel = logLevel
    self.durability = durability
    self.store = store
  }

  /// The members to restart one after another: a process of each service, then the next ones, and the gateways at the
  /// end. The simulator keeps running, because its devices are in memory.
  var restartOrder: [SuiteMember] {
    let services = members.filter { $0.role == .service }
    return services.filter { $0.replicaOf == nil } + services.filter { $0.replicaOf != nil }
      + members.filter(\.isGateway)
  }

  /// The drain timeout of each process in milliseconds.
  static let drainMs = 6_000

  /// Returns the ports that `member` must listen on.
  public func ports(of member: SuiteMember) -> MemberPorts {
    let hasService = member.serviceName != nil
    guard portBase > 0 else {
      return promised[member.name] ?? MemberPorts(rpc: 0, http: 0, service: hasService ? 0 : nil)
    }
    let rpc = portBase + member.portOffset
    return MemberPorts(
      rpc: rpc, http: rpc + member.httpOffset, admin: member.isGateway ? rpc + 200 : nil,
      service: hasService ? rpc + 1 : nil)
  }

  /// Reserves ports for each member that others link to, so that the others can start before it listens.
  public mutating func promisePorts(_ pick: () throws -> Int) rethrows {
    guard portBase == 0 else { return }
    let linked = Set(members.flatMap(\.links.keys))
    for member in members where linked.contains(member.backend) {
      promised[member.name] = MemberPorts(rpc: try pick(), http: try pick())
    }
  }

  public func executable(of member: SuiteMember) -> String { binaryFolder + "/" + member.executable }
  public var runFolder: String { dataFolder + "/run" }
  public var internalTokenFile: String { dataFolder + "/internal-token" }
  public var adminKeyFile: String { dataFolder + "/admin-key" }
  /// The folder of the development signing key, with a subfolder for its public key.
  public var apnsFolder: String { dataFolder + "/apns" }
  /// CA certificates (PEM) for connections to the simulator.
  public var simulatorTrustFile: String { dataFolder + "/apns-simulator/trust.pem" }
  /// The journal of what the simulator's devices display.
  public var simulatorJournal: String { dataFolder + "/apns-simulator/journal.jsonl" }
  public func readyFile(of member: SuiteMember) -> String { "\(runFolder)/\(member.name).ready.json" }

  /// Returns the command-line arguments of `member`, without the program's name.
  ///
  /// - Parameters:
  ///   - ports: The ports that it must listen on.
  ///   - running: The ports of the members that are ready, by name.
  public func arguments(of member: SuiteMember, ports: MemberPorts, running: [String: MemberPorts]) -> [String] {
    var arguments = [
      "--port", String(ports.rpc), "--http-port", String(ports.http), "--data-dir", dataFolder,
      "--internal-token-file", internalTokenFile, "--ready-file", readyFile(of: member), "--log-level", logLevel,
      "--log-format", "pretty", "--drain-timeout-ms", String(Self.drainMs),
    ]
    if member.role != .peer { arguments += ["--durability", durability] + (store.map { ["--store", $0] } ?? []) }
    for (name, flag) in member.links.sorted(by: { $0.key < $1.key }) {
      let others = members.filter { $0.backend == name }
      if others.isEmpty { continue }
      let addresses = others.map { "127.0.0.1:\((running[$0.name] ?? self.ports(of: $0)).rpc)" }
      arguments += [flag, addresses.joined(separator: ",")]
    }
    switch member.backend {
    case "gateway":
      let backends = members.compactMap { member -> String? in
        switch member.role {
        case .service: running[member.name].map { "\(member.backend)=127.0.0.1:\($0.rpc)" }
        case .gateway: nil
        case .peer:
          member.serviceName.flatMap { name in running[member.name]?.service.map { "\(name)=127.0.0.1:\($0)" } }
        }
      }
      arguments += ["--backends", backends.joined(separator: ","), "--bootstrap-admin-key-file", adminKeyFile]
      // Secure cookies require TLS, which loopback does not use.
      arguments += ["--dialects", "kilwinning,zentik,firebase", "--insecure-cookies"]
      arguments += ["--firebase-app", DevelopmentSigningKey.topic]
      if let admin = ports.admin { arguments += ["--admin-port", String(admin)] }
    case "activities":
      arguments += ["--signing-keys-dir", apnsFolder] + apnsArguments(running[SuiteMember.simulator.name])
    case SuiteMember.simulator.name:
      arguments += ["--keys-dir", DevelopmentSigningKey.publicFolder(apnsFolder), "--journal", simulatorJournal]
      if let service = ports.service { arguments += ["--rpc-port", String(service)] }
    default: break
    }
    return arguments
  }

  /// Returns the flags for the APNs servers: the configured ones, else the simulator.
  private func apnsArguments(_ simulator: MemberPorts?) -> [String] {
    let simulated = simulator.map { ports in
      APNsServers(
        endpoints: Dictionary(APNsServers.environments.map { ($0, "127.0.0.1:\(ports.rpc)") }) { $1 },
        trustFile: simulatorTrustFile)
    }
    guard let servers = apns ?? simulated else { return [] }
    return ["--apns-endpoint", servers.list] + (servers.trustFile.map { ["--apns-trust", $0] } ?? [])
  }
}
