/// One executable of the suite, as `campanile up` runs it.
public struct SuiteMember: Sendable, Hashable {
  /// The short name: in `endpoints.json`, before log lines, and in the gateway's list of backends.
  public var name: String
  /// The file beside the program `campanile`.
  public var executable: String
  /// Added to the port base.
  public var portOffset: Int
  /// How far its HTTP port is from its RPC port.
  public var httpOffset: Int
  public var role = Role.service
  /// The members that must be ready before it starts. The gateway waits for all.
  public var after: [String] = []
  /// The flags that tell it where other members listen, by their names. They may call one another: none waits for the other.
  public var links: [String: String] = [:]

  /// What a member is to the others.
  public enum Role: Sendable, Hashable {
    /// The gateway forwards to it.
    case service
    /// It starts last and ends first.
    case gateway
    /// It plays a server outside the suite, whose protocol it speaks on its first port.
    case peer
  }

  public var isGateway: Bool { role == .gateway }

  /// Everything that `up` runs, in the order of starting. A new service is one line.
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
      links: ["notifications": "--notifications-address"]),
    SuiteMember(name: "attendance", executable: "campanile-attendance", portOffset: 4, httpOffset: 100),
    SuiteMember(name: "gateway", executable: "campanile-gateway", portOffset: 0, httpOffset: 80, role: .gateway),
  ]

  /// The APNs of development.
  static let simulator = SuiteMember(
    name: "apns-simulator", executable: "campanile-apns-simulator", portOffset: 90, httpOffset: 100, role: .peer)
}

/// The ports that a process listens on; 0 is one that the system picks.
public struct MemberPorts: Sendable, Hashable, Codable {
  public var rpc: Int
  public var http: Int
  /// Of the operator's surface, where there is one.
  public var admin: Int?

  public init(rpc: Int, http: Int, admin: Int? = nil) {
    self.rpc = rpc
    self.http = http
    self.admin = admin
  }
}

/// What `up` needs to know to start the suite.
public struct SuitePlan: Sendable, Hashable {
  public var members: [SuiteMember]
  /// The folder of the executables.
  public var binaryFolder: String
  public var dataFolder: String
  /// 0 lets the system pick every port.
  public var portBase: Int
  public var logLevel: String
  public var durability: String
  /// Other APNs servers in place of the simulator.
  public var apns: APNsServers?
  /// Where members will listen that others are told of, by name; only where the system picks the ports.
  private var promised: [String: MemberPorts] = [:]

  public init(
    members: [SuiteMember] = SuiteMember.all, binaryFolder: String, dataFolder: String, portBase: Int,
    logLevel: String = "info", durability: String = "full", apns: APNsServers? = nil
  ) {
    self.apns = apns
    self.members = apns == nil ? members : members.filter { $0.role != .peer }
    self.binaryFolder = binaryFolder
    self.dataFolder = dataFolder
    self.portBase = portBase
    self.logLevel = logLevel
    self.durability = durability
  }

  /// How long a process may drain before the suite goes on without it, in milliseconds.
  static let drainMs = 6_000

  /// The ports that `member` is asked to listen on.
  public func ports(of member: SuiteMember) -> MemberPorts {
    guard portBase > 0 else { return promised[member.name] ?? MemberPorts(rpc: 0, http: 0) }
    let rpc = portBase + member.portOffset
    return MemberPorts(rpc: rpc, http: rpc + member.httpOffset, admin: member.isGateway ? rpc + 200 : nil)
  }

  /// Has a port chosen for each member that others are told of, so that those may start before it listens.
  public mutating func promisePorts(_ pick: () throws -> Int) rethrows {
    guard portBase == 0 else { return }
    for name in Set(members.flatMap(\.links.keys)).sorted() {
      promised[name] = MemberPorts(rpc: try pick(), http: try pick())
    }
  }

  public func executable(of member: SuiteMember) -> String { binaryFolder + "/" + member.executable }
  public var runFolder: String { dataFolder + "/run" }
  public var internalTokenFile: String { dataFolder + "/internal-token" }
  public var adminKeyFile: String { dataFolder + "/admin-key" }
  /// The development signing key, and what is public of it in a folder of its own.
  public var apnsFolder: String { dataFolder + "/apns" }
  /// What senders trust the simulator by.
  public var simulatorTrustFile: String { dataFolder + "/apns-simulator/trust.pem" }
  /// What the simulator's devices display.
  public var simulatorJournal: String { dataFolder + "/apns-simulator/journal.jsonl" }
  public func readyFile(of member: SuiteMember) -> String { "\(runFolder)/\(member.name).ready.json" }

  /// The command line of `member` without the program's name.
  ///
  /// - Parameters:
  ///   - ports: where it is to listen.
  ///   - running: where the members listen that are ready.
  public func arguments(of member: SuiteMember, ports: MemberPorts, running: [String: MemberPorts]) -> [String] {
    var arguments = [
      "--port", String(ports.rpc), "--http-port", String(ports.http), "--data-dir", dataFolder,
      "--internal-token-file", internalTokenFile, "--ready-file", readyFile(of: member), "--log-level", logLevel,
      "--log-format", "pretty", "--durability", durability, "--drain-timeout-ms", String(Self.drainMs),
    ]
    for (name, flag) in member.links.sorted(by: { $0.key < $1.key }) {
      guard let other = members.first(where: { $0.name == name }) else { continue }
      arguments += [flag, "127.0.0.1:\((running[name] ?? self.ports(of: other)).rpc)"]
    }
    switch member.name {
    case "gateway":
      let backends = members.filter { $0.role == .service }.compactMap { service in
        running[service.name].map { "\(service.name)=127.0.0.1:\($0.rpc)" }
      }
      arguments += ["--backends", backends.joined(separator: ","), "--bootstrap-admin-key-file", adminKeyFile]
      // On loopback, where there is no TLS.
      arguments += ["--dialects", "kilwinning,zentik,firebase", "--insecure-cookies"]
      arguments += ["--firebase-app", DevelopmentSigningKey.topic]
      if let admin = ports.admin { arguments += ["--admin-port", String(admin)] }
    case "attendance": arguments += ["--allow-name-only-login"]
    case "activities":
      arguments += ["--signing-keys-dir", apnsFolder] + apnsArguments(running[SuiteMember.simulator.name])
    case SuiteMember.simulator.name:
      arguments += ["--keys-dir", DevelopmentSigningKey.publicFolder(apnsFolder), "--journal", simulatorJournal]
    default: break
    }
    return arguments
  }

  /// Where pushes go: to the servers that were named, or to the simulator.
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
