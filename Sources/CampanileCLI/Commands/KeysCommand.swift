public import ArgumentParser
internal import CampanileAPI
import CampanileBase
internal import CampanileCodec
internal import CampanileRPC
internal import Foundation

/// `campanile keys create|list|revoke|rotate`
public struct KeysCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "keys", abstract: "Manage the gateway's API keys.",
    subcommands: [Create.self, List.self, Revoke.self, Rotate.self])

  public init() {}

  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Create a key and print its secret, which cannot be shown again.",
      discussion:
        """
          campanile keys create user/alice --scope notifications
          campanile keys create service/ci --expires 24h
          campanile keys create service/reports --scope notifications --scope activities:operate
          campanile keys create user/alice --device watch --scope sync:read --scope sync:publish

        Without --scope, a key can read and write every service. The scopes `operate` and `admin` must be given explicitly. The
        scopes of a key are fixed; to add one, create a new key with all scopes and revoke the old key.
        """)

    @Argument(help: "Principal of the key: user/<id> or service/<id>.")
    var principal: String

    @Option(
      help: """
        Scope of the key: admin, <service>, or <service>:<read|write|publish|operate>; may be repeated (default: read and \
        write every service).
        """)
    var scope: [String] = []

    @Option(help: "Purpose of the key.")
    var description = ""

    @Option(help: "Device of the user that the key is bound to: the key cannot act as another device (default: any).")
    var device = ""

    @Option(help: ArgumentHelp("Lifetime of the key, for example 24h (default: unlimited).", valueName: "duration"))
    var expires: Timeout?

    @Flag(help: "Print only the secret.")
    var secretOnly = false

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let request = CreateApiKeyRequest(
        principal: principal, scopes: scope, description: description, expireTime: expires.map(KeysCommand.time),
        deviceId: device)
      let reply = try await KeysCommand.call(AccessServiceMethods.createApiKey, request, connection)
      guard secretOnly else { return try Console.writeLine(output.formatter.format(reply)) }
      try Console.writeLine(Terminal.printable(try KeysCommand.decode(CreateApiKeyResponse.self, reply).secret))
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the keys, newest first, without their secrets.")

    @Flag(help: "Include revoked keys.")
    var all = false

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      var request = ListApiKeysRequest(pageSize: 1000, includeRevoked: all)
      repeat {
        let reply = try await KeysCommand.call(AccessServiceMethods.listApiKeys, request, connection)
        try Console.writeLine(output.formatter.format(reply))
        request.pageToken = try KeysCommand.decode(ListApiKeysResponse.self, reply).nextPageToken
      } while !request.pageToken.isEmpty
    }
  }

  struct Revoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Revoke a key immediately.")

    @Argument(help: "Id of the key, k_….")
    var keyID: String

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let request = RevokeApiKeyRequest(keyId: keyID)
      let reply = try await KeysCommand.call(AccessServiceMethods.revokeApiKey, request, connection)
      try Console.writeLine(output.formatter.format(reply))
    }
  }

  struct Rotate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Replace a key, which stays valid for a while, and print the new secret.",
      discussion: "  campanile keys rotate k_7Zq0xVbN2aLm --overlap 1h --secret-only")

    @Argument(help: "Id of the key to replace, k_….")
    var keyID: String

    @Option(
      help: ArgumentHelp("Remaining lifetime of the old key, 0s to 24h (default: 24h).", valueName: "duration"))
    var overlap: Overlap?

    @Option(
      help: ArgumentHelp(
        "Lifetime of the new key (default: the lifetime that the old key was created with).", valueName: "duration"))
    var expires: Timeout?

    @Flag(help: "Print only the secret.")
    var secretOnly = false

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let request = RotateApiKeyRequest(
        keyId: keyID, overlap: overlap.map { ProtoDuration(milliseconds: $0.milliseconds) },
        expireTime: expires.map(KeysCommand.time))
      let reply = try await KeysCommand.call(AccessServiceMethods.rotateApiKey, request, connection)
      guard secretOnly else { return try Console.writeLine(output.formatter.format(reply)) }
      try Console.writeLine(Terminal.printable(try KeysCommand.decode(RotateApiKeyResponse.self, reply).secret))
    }
  }

  /// The time for which an old key stays valid; 0 revokes it immediately.
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

  /// Returns the time at which `timeout` ends if it starts now.
  private static func time(after timeout: Timeout) -> ProtoTimestamp {
    let end = Date().timeIntervalSince1970 + Double(timeout.milliseconds) / 1000
    return ProtoTimestamp(seconds: Int64(end), nanos: 0)
  }

  /// Calls `method` and returns the response's JSON unchanged.
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
      return try R(jsonUTF8: json)
    } catch {
      throw RPCError(
        .internalError, "the response is not a valid \(R.protoFullName): \(error.message)", reason: "REPLY_INVALID")
    }
  }
}
