import CampanileRPC
import NIOCore
import Testing

@testable import Gateway

/// The connections that have to rest when a caller is refused repeatedly.
@Suite struct ConnectionCredentialCacheTests {
  /// A connection without its own credential, which counts its rests.
  private final class Connection: CallTransport {
    var restCount = 0
    override func rest(until deadline: NIODeadline) { restCount += 1 }
  }

  /// Returns how often the connection rests after one call of each caller, the last of which is refused far beyond its
  /// pace.
  private func rests(callers: [String?]) throws -> Int {
    let ring = KeyRing(services: [], nowMs: { 0 })
    var secrets: [String: String] = [:]
    for caller in Set(callers.compactMap { $0 }) {
      let (secret, id) = (try CallerSecret.random(.key), try StoredApiKey.randomID())
      let principal = try #require(Principal(caller))
      ring.add(
        StoredApiKey(
          id: id, digest: secret.digest, principal: principal, scopes: [], description: "", createdAtMs: 0))
      secrets[caller] = "Bearer \(secret.text)"
    }
    let authenticator = CallerAuthenticator(keys: ring)
    let told = secrets
    return try sharedLoop.submit {
      let connection = Connection(loops: CallLoops(), loop: sharedLoop, limits: WireLimits())
      let callerCache = ConnectionCredentialCache(address: "192.0.2.1", share: CallerShare(rate: nil))
      var last: ServerCall?
      for caller in callers {
        let metadata: Metadata = caller.flatMap { told[$0] }.map { ["authorization": $0] } ?? [:]
        let call = ServerCall(transport: connection, metadata: metadata)
        let known = try callerCache.caller(of: call, authenticator, nowNs: 0)
        call.quota = known.credential?.share
        last = call
      }
      if let last { for _ in 0..<2 * RefusalPace.burst { callerCache.pace(last) } }
      return connection.restCount
    }.wait()
  }

  @Test func connectionOfASingleCallerRests() throws {
    #expect(try rests(callers: ["user/a", "user/a"]) > 0)
    #expect(try rests(callers: [nil]) > 0)
  }

  @Test func connectionOfSeveralCallersDoesNotRest() throws {
    #expect(try rests(callers: ["user/a", "user/b"]) == 0)
    #expect(try rests(callers: ["user/a", "user/b", "user/a"]) == 0)
    #expect(try rests(callers: [nil, "user/a"]) == 0)
  }
}
