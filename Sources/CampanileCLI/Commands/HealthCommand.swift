public import ArgumentParser
public import CampanileRPC
internal import Foundation

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
    let statuses: [String: String]
    if let service {
      let request = try JSONEncoder().encode(["service": service])
      let reply = try await call(server, "Check", Array(request), options)
      statuses = [service: try Self.decode(Status.self, reply).status ?? "UNKNOWN"]
      try Console.writeLine(output.formatter.format(reply))
    } else {
      let reply = try await call(server, "List", [], options)
      statuses = (try Self.decode(List.self, reply).statuses ?? [:]).mapValues { $0.status ?? "UNKNOWN" }
      try Console.writeLine(output.formatter.format(reply))
    }
    let bad = statuses.filter { $0.value != "SERVING" }.keys.sorted()
    guard bad.isEmpty else {
      let names = bad.map { $0.isEmpty ? "the server" : $0 }.joined(separator: ", ")
      throw RPCError(.unavailable, "not serving: \(names)", reason: "NOT_SERVING")
    }
  }

  private struct Status: Decodable { var status: String? }
  private struct List: Decodable { var statuses: [String: Status]? }

  private static func decode<R: Decodable>(_ type: R.Type, _ bytes: [UInt8]) throws(RPCError) -> R {
    do {
      return try JSONDecoder().decode(type, from: Data(bytes))
    } catch {
      throw RPCError(.internalError, "cannot read the health answer: \(error)", reason: "REPLY_INVALID")
    }
  }

  private func call(
    _ server: ServiceConnection, _ name: String, _ request: [UInt8], _ options: CallOptions
  ) async throws(RPCError) -> [UInt8] {
    try await server.client.rawUnary(
      method: "grpc.health.v1.Health/" + name, paramsJSON: request, idempotency: .noSideEffects, options: options)
  }
}
