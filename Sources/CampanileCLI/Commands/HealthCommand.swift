public import ArgumentParser
internal import CampanileAPI
internal import CampanileCodec
internal import CampanileRPC

/// `campanile health [SERVICE]`
public struct HealthCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "health",
    abstract: "Asks whether a server takes calls; exit code 14 (UNAVAILABLE) when it does not.",
    discussion: "Without a service every one that the server knows is shown; \"\" is the server as a whole.")

  @Argument(help: "Full name of one service.")
  var service: String?

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var output: OutputOptions

  public init() {}

  public func run() async throws {
    let server = try ServiceConnection(try connection.destination())
    var options = connection.callOptions()
    if options.timeoutMs == nil { options.timeoutMs = 5_000 }
    let statuses: [String: HealthCheckResponse.ServingStatus]
    if let service {
      var request = HealthCheckRequest()
      request.service = service
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
}
