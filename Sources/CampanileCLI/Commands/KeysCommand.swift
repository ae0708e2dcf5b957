public import ArgumentParser
internal import CampanileAPI
internal import CampanileCodec
internal import CampanileRPC
internal import Foundation

/// `campanile keys create|list|revoke|rotate`
public struct KeysCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "keys", abstract: "Manages the API keys of the gateway.",
    subcommands: [Create.self, List.self, Revoke.self, Rotate.self])

  public init() {}

  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Makes a key and prints its secret, which is never shown again.",
      discussion:
        "  campanile keys create user/alice --scope notifications\n  campanile keys create service/ci --expires 24h")

    @Argument(help: "Who the caller is: user/<id> or service/<id>.")
    var principal: String

    @Option(help: "What the key may do: admin, <service>, or <service>:<read|write|publish|operate>; may be repeated.")
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
      var request = CreateApiKeyRequest()
      request.principal = principal
      request.scopes = scope
      request.description = description
      request.expireTime = expires.map(KeysCommand.time)
      let reply = try await KeysCommand.call(AccessServiceMethods.createApiKey, request, connection)
      guard secretOnly else { return try Console.writeLine(output.formatter.format(reply)) }
      try Console.writeLine(try KeysCommand.decode(CreateApiKeyResponse.self, reply).secret)
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
      var request = ListApiKeysRequest()
      request.pageSize = 1000
      request.includeRevoked = all
      repeat {
        let reply = try await KeysCommand.call(AccessServiceMethods.listApiKeys, request, connection)
        try Console.writeLine(output.formatter.format(reply))
        request.pageToken = try KeysCommand.decode(ListApiKeysResponse.self, reply).nextPageToken
      } while !request.pageToken.isEmpty
    }
  }

  struct Revoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Ends a key at once.")

    @Argument(help: "The key's public part, k_….")
    var keyID: String

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      var request = RevokeApiKeyRequest()
      request.keyId = keyID
      let reply = try await KeysCommand.call(AccessServiceMethods.revokeApiKey, request, connection)
      try Console.writeLine(output.formatter.format(reply))
    }
  }

  struct Rotate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Makes a key in the place of another, which still works for a while, and prints its secret.",
      discussion: "  campanile keys rotate k_7Zq0xVbN2aLm --overlap 1h --secret-only")

    @Argument(help: "The public part of the key to replace, k_….")
    var keyID: String

    @Option(
      help: ArgumentHelp("How long the old key still works, 0s to 24h; 24h unless told.", valueName: "duration"))
    var overlap: Overlap?

    @Option(
      help: ArgumentHelp(
        "How long the new key is valid; as long as the old one was made for, unless told.", valueName: "duration"))
    var expires: Timeout?

    @Flag(help: "Print the secret alone.")
    var secretOnly = false

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      var request = RotateApiKeyRequest()
      request.keyId = keyID
      request.overlap = overlap.map { ProtoDuration(milliseconds: $0.milliseconds) }
      request.expireTime = expires.map(KeysCommand.time)
      let reply = try await KeysCommand.call(AccessServiceMethods.rotateApiKey, request, connection)
      guard secretOnly else { return try Console.writeLine(output.formatter.format(reply)) }
      try Console.writeLine(try KeysCommand.decode(RotateApiKeyResponse.self, reply).secret)
    }
  }

  /// How long an old key goes on: a length of time, or 0 for not at all.
  struct Overlap: ExpressibleByArgument, Sendable {
    var milliseconds: Int64

    init?(argument: String) {
      if ["0", "0ms", "0s", "0m", "0h"].contains(argument) {
        milliseconds = 0
      } else if let timeout = Timeout(argument: argument) {
        milliseconds = timeout.milliseconds
      } else {
        return nil
      }
    }
  }

  /// The time that lies so far ahead.
  private static func time(after timeout: Timeout) -> ProtoTimestamp {
    let end = Date().timeIntervalSince1970 + Double(timeout.milliseconds) / 1000
    return ProtoTimestamp(seconds: Int64(end), nanos: 0)
  }

  /// The answer's JSON as it came.
  private static func call(
    _ method: MethodDescriptor, _ request: some ProtoMessage, _ connection: ConnectionOptions
  ) async throws -> [UInt8] {
    let server = try connection.connect()
    return try await server.client.rawUnary(
      method: method.path, paramsJSON: request.jsonUTF8Bytes(), idempotency: method.idempotency,
      options: connection.callOptions())
  }

  private static func decode<R: ProtoMessage>(_ type: R.Type, _ json: [UInt8]) throws(RPCError) -> R {
    do throws(ProtoJSONError) {
      return try R(jsonUTF8: json, options: JSONDecodingOptions(ignoreUnknownFields: true))
    } catch {
      throw RPCError(.internalError, "the response is no \(R.protoFullName): \(error.message)", reason: "REPLY_INVALID")
    }
  }
}
