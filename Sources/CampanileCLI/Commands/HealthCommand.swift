public import ArgumentParser
import CampanileBase
internal import CampanileCodec
internal import CampanileHealthReflection
internal import CampanileRPC

/// `campanile health [SERVICE]`
public struct HealthCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "health",
    abstract: "Check whether a server accepts calls. Exit code 14 (UNAVAILABLE) if it does not.",
    discussion: """
      Without an argument, shows every service of the server; "" stands for the server as a whole. With --cluster, shows \
      every process that `campanile up` runs.
      """)

  @Argument(help: "Full name of the service to check (default: all services).")
  var service: String?

  @Option(
    help: ArgumentHelp("HTTP port whose /readyz to check instead, such as the simulator's.", valueName: "host:port"))
  var http: String?

  @Flag(help: "Check every process in endpoints.json, such as those of `campanile up --replicas`.")
  var cluster = false

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var output: OutputOptions

  public init() {}

  public func validate() throws {
    guard !cluster || service == nil && http == nil else {
      throw ValidationError("--cluster checks all processes: give neither a service nor --http.")
    }
  }

  public func run() async throws {
    if cluster { return try await askCluster() }
    if let http { return try askHTTP(Destination(address: http)) }
    let server = try connection.connect()
    var options = connection.callOptions()
    if options.timeoutMs == nil { options.timeoutMs = 5_000 }
    let statuses: [String: HealthCheckResponse.ServingStatus]
    if let service {
      let request = HealthCheckRequest(service: service)
      let reply = try await HealthClient(server.client).check(request, options: options)
      statuses = [service: reply.status]
      try Console.writeLine(output.formatter.format(reply.jsonUTF8Bytes()))
    } else {
      let reply = try await HealthClient(server.client).list(HealthListRequest(), options: options)
      statuses = reply.statuses.mapValues(\.status)
      try Console.writeLine(output.formatter.format(reply.jsonUTF8Bytes()))
    }
    let bad = statuses.filter { $0.value != .serving }.keys.sorted()
    try Self.checkNone(bad.map { $0.isEmpty ? "the server" : $0 })
  }

  /// Throws UNAVAILABLE if there are names of what does not serve.
  private static func checkNone(_ names: [String]) throws(RPCError) {
    guard !names.isEmpty else { return }
    throw RPCError(.unavailable, "not serving: \(names.joined(separator: ", "))", reason: "NOT_SERVING")
  }

  private func askCluster() async throws {
    var options = connection.callOptions()
    if options.timeoutMs == nil { options.timeoutMs = 5_000 }
    let processes = try connection.allDestinations()
    let found = await withTaskGroup(of: (String, String).self, returning: [String: String].self) { group in
      for (name, destination) in processes {
        group.addTask { [options] in (name, await Self.status(of: destination, options)) }
      }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    var writer = JSONWriter(capacity: 1_024)
    writer.append(raw: "{\"processes\":{")
    for (index, (name, _)) in processes.enumerated() {
      if index > 0 { writer.append(raw: ",") }
      writer.string(name)
      writer.append(raw: ":")
      writer.string(found[name] ?? Self.unreachable)
    }
    writer.append(raw: "}}")
    try Console.writeLine(output.formatter.format(writer.withUnsafeBytes { Array($0) }))
    try Self.checkNone(processes.map(\.name).filter { found[$0] != Self.serving })
  }

  private static let serving = "SERVING"
  private static let unreachable = "UNREACHABLE"

  private static func status(of destination: Destination, _ options: CallOptions) async -> String {
    guard let server = try? ServiceConnection(destination),
      let reply = try? await HealthClient(server.client).check(HealthCheckRequest(), options: options)
    else { return unreachable }
    return reply.status == .serving ? serving : "NOT_SERVING"
  }

  private func askHTTP(_ server: Destination) throws {
    let status: Int
    do {
      status = try PortProbe.httpStatus(
        host: server.host, port: server.port, path: "/readyz",
        timeoutMs: connection.callOptions().timeoutMs ?? 5_000)
    } catch {
      throw RPCError(.unavailable, error.description, reason: "NOT_SERVING")
    }
    guard status == 200 else {
      throw RPCError(.unavailable, "/readyz returned status \(status)", reason: "NOT_SERVING")
    }
    try Console.writeLine(output.formatter.format(Array(#"{"status":"SERVING"}"#.utf8)))
  }
}
