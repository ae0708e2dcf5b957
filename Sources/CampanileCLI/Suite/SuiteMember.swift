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
  /// Whether it is the gateway, which starts last and ends first.
  public var isGateway = false

  /// Everything that `up` runs, in the order of starting. A new service is one line.
  public static let all = [
    SuiteMember(name: "notifications", executable: "campanile-notifications", portOffset: 1, httpOffset: 100),
    SuiteMember(name: "attendance", executable: "campanile-attendance", portOffset: 4, httpOffset: 100),
    SuiteMember(name: "gateway", executable: "campanile-gateway", portOffset: 0, httpOffset: 80, isGateway: true),
  ]
}

/// The ports that a process listens on; 0 is one that the system picks.
public struct MemberPorts: Sendable, Hashable, Codable {
  public var rpc: Int
  public var http: Int

  public init(rpc: Int, http: Int) {
    self.rpc = rpc
    self.http = http
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

  public init(
    members: [SuiteMember] = SuiteMember.all, binaryFolder: String, dataFolder: String, portBase: Int,
    logLevel: String = "info", durability: String = "full"
  ) {
    self.members = members
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
    guard portBase > 0 else { return MemberPorts(rpc: 0, http: 0) }
    let rpc = portBase + member.portOffset
    return MemberPorts(rpc: rpc, http: rpc + member.httpOffset)
  }

  public func executable(of member: SuiteMember) -> String { binaryFolder + "/" + member.executable }
  public var runFolder: String { dataFolder + "/run" }
  public var internalTokenFile: String { dataFolder + "/internal-token" }
  public var adminKeyFile: String { dataFolder + "/admin-key" }
  public func readyFile(of member: SuiteMember) -> String { "\(runFolder)/\(member.name).ready.json" }

  /// The command line of `member` without the program's name.
  ///
  /// - Parameters:
  ///   - ports: where it is to listen.
  ///   - backends: where the services listen that are ready; the gateway forwards to them.
  public func arguments(of member: SuiteMember, ports: MemberPorts, backends: [(name: String, rpc: Int)]) -> [String] {
    var arguments = [
      "--port", String(ports.rpc), "--http-port", String(ports.http), "--data-dir", dataFolder,
      "--internal-token-file", internalTokenFile, "--ready-file", readyFile(of: member), "--log-level", logLevel,
      "--log-format", "pretty", "--durability", durability, "--drain-timeout-ms", String(Self.drainMs),
    ]
    if member.isGateway {
      let list = backends.map { "\($0.name)=127.0.0.1:\($0.rpc)" }.joined(separator: ",")
      arguments += ["--backends", list, "--bootstrap-admin-key-file", adminKeyFile]
    }
    return arguments
  }
}
