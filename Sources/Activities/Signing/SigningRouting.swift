import APNs
import CampanileBase
import CampanileRPC
import Synchronization

/// Resolves a push's host from its environment, and its signing key from its app and environment.
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
      // The store failed or the key was revoked: the push waits like others of its route.
      return wallMs() + 60_000
    }
  }

  private static func id(_ route: PushRoute) -> SigningKeyID {
    SigningKeyID(teamID: route.teamID, keyID: route.keyID)
  }
}

/// The APNs hosts of each environment: tokens of a development build belong to Apple's sandbox ("Sending notification
/// requests to APNs").
struct APNsEndpoints: Sendable, Hashable {
  /// Hosts for pushes, by environment.
  var push: [String: APNsHost] = [
    "development": .sandbox, "sandbox": .production, "production": .production,
  ]
  /// Hosts for broadcast channel management, by environment.
  var channels: [String: APNsHost] = [
    "development": .sandboxChannels, "sandbox": .productionChannels, "production": .productionChannels,
  ]

  static let countMax = 32

  /// Sets the host of an environment from `ENVIRONMENT=HOST:PORT`, adding the environment if it is new.
  ///
  /// A custom host serves both pushes and channel management.
  ///
  /// - Throws: INVALID_ARGUMENT if the text has another form.
  mutating func set(_ text: String) throws(RPCError) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, Self.isEnvironment(parts[0]), let address = HostPort(parts[1]),
      push[String(parts[0])] != nil || push.count < Self.countMax, address.host.utf8.count <= 253,
      address.host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") })
    else { throw .invalidField("apnsEndpoint", "must be ENVIRONMENT=HOST:PORT, not \(text.prefix(200))") }
    let host = APNsHost(name: address.host, port: address.port)
    push[String(parts[0])] = host
    channels[String(parts[0])] = host
  }

  private static func isEnvironment(_ text: Substring) -> Bool {
    (1...32).contains(text.utf8.count)
      && text.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-") }
  }
}
