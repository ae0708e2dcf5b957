public import ArgumentParser
internal import CampanileRPC
internal import Foundation

/// `campanile keys create|list|revoke`
public struct KeysCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "keys", abstract: "Manages the API keys of the gateway.",
    subcommands: [Create.self, List.self, Revoke.self])

  public init() {}

  static let service = "campanile.gateway.v1.AccessService/"

  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Makes a key and prints its secret, which is never shown again.",
      discussion: "  campanile keys create user/alice --scope notifications\n  campanile keys create service/ci --expires 24h")

    @Argument(help: "Who the caller is: user/<id> or service/<id>.")
    var principal: String

    @Option(help: "What the key may do: admin, <service>, or <service>:<read|write>; may be repeated.")
    var scope: [String] = []

    @Option(help: "What the key is for.")
    var description = ""

    @Option(help: ArgumentHelp("How long the key is valid, for example 24h.", valueName: "duration"))
    var expires: Timeout?

    @Flag(help: "Print the secret alone.")
    var secretOnly = false

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      struct Request: Encodable {
        var principal: String
        var scopes: [String]
        var description: String
        var expireTime: Date?
      }
      struct Reply: Decodable { var secret: String }
      let request = Request(
        principal: principal, scopes: scope, description: description,
        expireTime: expires.map { Date(timeIntervalSinceNow: Double($0.milliseconds) / 1000) })
      let encoder = JSONEncoder()
      encoder.dateEncodingStrategy = .iso8601
      let reply = try await KeysCommand.call("CreateApiKey", try encoder.encode(request), connection)
      guard secretOnly else { return try Console.writeLine(output.formatter.format(reply)) }
      try Console.writeLine(try JSONDecoder().decode(Reply.self, from: Data(reply)).secret)
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the keys, newest first, without their secrets.")

    @Flag(help: "Show revoked keys too.")
    var all = false

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      struct Request: Encodable {
        var pageSize = 1000
        var pageToken: String
        var includeRevoked: Bool
      }
      struct Reply: Decodable { var nextPageToken: String? }
      var token = ""
      repeat {
        let request = Request(pageToken: token, includeRevoked: all)
        let reply = try await KeysCommand.call("ListApiKeys", try JSONEncoder().encode(request), connection)
        try Console.writeLine(output.formatter.format(reply))
        token = try JSONDecoder().decode(Reply.self, from: Data(reply)).nextPageToken ?? ""
      } while !token.isEmpty
    }
  }

  struct Revoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Ends a key at once.")

    @Argument(help: "The key's public part, k_….")
    var keyID: String

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let reply = try await KeysCommand.call(
        "RevokeApiKey", try JSONEncoder().encode(["keyId": keyID]), connection)
      try Console.writeLine(output.formatter.format(reply))
    }
  }

  private static func call(_ name: String, _ request: Data, _ connection: ConnectionOptions) async throws -> [UInt8] {
    let server = try ServiceConnection(try connection.destination())
    return try await server.client.rawUnary(
      method: service + name, paramsJSON: Array(request), options: connection.callOptions())
  }
}
