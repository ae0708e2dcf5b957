import APNs
import CampanileRPC
import Synchronization

/// Finds hosts and keys: the host of an environment by configuration, the key by app and environment.
struct SigningRouting: PushRouting {
  static let bearer = "bearer "

  let endpoints: APNsEndpoints
  let keys: SigningKeys
  let tokens: ProviderTokens
  let wallMs: @Sendable () -> Int64

  func route(of key: PushRouteKey) -> PushRoute? {
    guard let host = endpoints.push[key.environment],
      let id = keys.id(app: key.app, environment: key.environment)
    else { return nil }
    return PushRoute(host: host, teamID: id.teamID, keyID: id.keyID)
  }

  func authorization(for route: PushRoute) async throws -> String {
    Self.bearer + (try await tokens.token(of: Self.id(route)).token)
  }

  func renewAuthorization(_ rejected: String, for route: PushRoute) async -> Int64 {
    do {
      return try await tokens.rejected(String(rejected.dropFirst(Self.bearer.count)), of: Self.id(route))
    } catch {
      // The store refuses, or the key is gone: the push waits like others of its route.
      return wallMs() + 60_000
    }
  }

  private static func id(_ route: PushRoute) -> SigningKeyID {
    SigningKeyID(teamID: route.teamID, keyID: route.keyID)
  }
}

/// The hosts of the environments.
struct APNsEndpoints: Sendable, Hashable {
  /// Where pushes go, by environment.
  var push: [String: APNsHost] = [
    "development": .sandbox, "sandbox": .production, "production": .production,
  ]
  /// Where broadcast channels are managed, by environment.
  var channels: [String: APNsHost] = [
    "development": .sandboxChannels, "sandbox": .productionChannels, "production": .productionChannels,
  ]

  static let countMax = 32

  /// Changes the host of an environment, or adds one: `ENVIRONMENT=HOST:PORT`. Another server does for channels what it does
  /// for pushes. Throws INVALID_ARGUMENT for a text of another form.
  mutating func set(_ text: String) throws(RPCError) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, Self.isEnvironment(parts[0]), let colon = parts[1].lastIndex(of: ":"),
      let port = Int(parts[1][parts[1].index(after: colon)...]), (1...65_535).contains(port),
      push[String(parts[0])] != nil || push.count < Self.countMax
    else {
      throw .invalidField("apnsEndpoint", "must be ENVIRONMENT=HOST:PORT, not \(text.prefix(200))")
    }
    var name = parts[1][..<colon]
    // An IPv6 address stands in brackets (RFC 3986 section 3.2.2).
    if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
    guard !name.isEmpty, name.utf8.count <= 253,
      name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") })
    else { throw .invalidField("apnsEndpoint", "must be ENVIRONMENT=HOST:PORT, not \(text.prefix(200))") }
    let host = APNsHost(name: String(name), port: port)
    push[String(parts[0])] = host
    channels[String(parts[0])] = host
  }

  private static func isEnvironment(_ text: Substring) -> Bool {
    (1...32).contains(text.utf8.count)
      && text.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-") }
  }
}
