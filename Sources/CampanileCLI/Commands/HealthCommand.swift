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
    discussion: "Without an argument, shows every service of the server; \"\" stands for the server as a whole.")

  @Argument(help: "Full name of the service to check (default: all services).")
  var service: String?

  @Option(
    help: ArgumentHelp("HTTP port whose /readyz to check instead, such as the simulator's.", valueName: "host:port"))
  var http: String?

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var output: OutputOptions

  public init() {}

  public func run() async throws {
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
    guard bad.isEmpty else {
      let names = bad.map { $0.isEmpty ? "the server" : $0 }.joined(separator: ", ")
      throw RPCError(.unavailable, "not serving: \(names)", reason: "NOT_SERVING")
    }
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
