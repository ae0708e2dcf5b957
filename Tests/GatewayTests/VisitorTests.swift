import CampanileRPC
import NIOCore
import Testing

@testable import Gateway

/// Whose connections have to wait when a caller is refused again and again.
@Suite struct VisitorTests {
  /// A connection without a credential of its own, which notes how often it has to rest.
  private final class Connection: CallTransport {
    var restCount = 0
    override func rest(until deadline: NIODeadline) { restCount += 1 }
  }

  /// How often the connection rests when each of `callers` makes a call in its turn, and the last one is refused far beyond its pace.
  private func rests(callers: [String?]) throws -> Int {
    let ring = KeyRing(services: [], nowMs: { 0 })
    var secrets: [String: String] = [:]
    for caller in Set(callers.compactMap { $0 }) {
      let (secret, id) = (try ApiKeySecret.random(), try ApiKeySecret.randomKeyID())
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
      let visitor = Visitor(address: "192.0.2.1", share: CallerShare(rate: nil))
      var last: ServerCall?
      for caller in callers {
        let metadata: Metadata = caller.flatMap { told[$0] }.map { ["authorization": $0] } ?? [:]
        let call = ServerCall(transport: connection, metadata: metadata)
        let known = try visitor.caller(of: call, authenticator, nowNs: 0)
        call.quota = known.credential?.share
        last = call
      }
      if let last { for _ in 0..<2 * RefusalPace.burst { visitor.pace(last) } }
      return connection.restCount
    }.wait()
  }

  @Test func whoCallsAloneRests() throws {
    #expect(try rests(callers: ["user/a", "user/a"]) > 0)
    #expect(try rests(callers: [nil]) > 0)
  }

  @Test func nobodyRestsWhereOthersCallToo() throws {
    #expect(try rests(callers: ["user/a", "user/b"]) == 0)
    #expect(try rests(callers: ["user/a", "user/b", "user/a"]) == 0)
    #expect(try rests(callers: [nil, "user/a"]) == 0)
  }
}
