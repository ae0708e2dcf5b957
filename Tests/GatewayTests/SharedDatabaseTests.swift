import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileStore
import Echo
import ServiceTesting
import TestSupport
import Testing

@testable import Gateway

/// The rules by which several gateways share a database.
@Suite struct SharingRuleTests {
  @Test("gateways divide a rate and its burst, and each has at least one token")
  func ratesAreDivided() throws {
    let limit = try #require(RateLimit(perSecond: 10, burst: 40))
    for (sharers, burst) in [(1, 40), (3, 13), (40, 1), (1_000, 1)] {
      let bucket = TokenBucket(limit, sharers: sharers)
      #expect(bucket.burst == burst)
      // All gateways together refill 10 tokens in a second.
      #expect(bucket.intervalNs * 10 == Int64(sharers) * 1_000_000_000)
    }
    let rate = CurrentRate(limit)
    rate.share(among: 4)
    #expect(rate.bucket?.burst == 10 && rate.limit == limit)
    // A new limit is divided, too.
    rate.set(RateLimit(perSecond: 100, burst: 400))
    #expect(rate.bucket == TokenBucket(intervalNs: 40_000_000, depthNs: 4_000_000_000))
    rate.set(nil)
    #expect(rate.bucket == nil)
    rate.share(among: 1)
    rate.set(limit)
    #expect(rate.bucket == TokenBucket(limit))
  }

  @Test("a claim blocks the other gateways while its owner is alive, and other requests")
  func claimsBlock() throws {
    let claim = StoredClaim(requestHash: [1], owner: "g_1", isOwnerAlive: true)
    #expect(try claim.blocks("g_2", requestHash: [1]))
    #expect(throws: StoreError.self) { try claim.blocks("g_2", requestHash: [2]) }
    #expect(try !claim.blocks("g_1", requestHash: [1]))
    let orphan = StoredClaim(requestHash: [1], owner: "g_1", isOwnerAlive: false)
    #expect(try !orphan.blocks("g_2", requestHash: [2]))
  }

  @Test("only the changes of the current transaction are announced, and those of others are taken once")
  func changesAreAnnouncedOnce() {
    let peers = GatewayPeers()
    var configuration = StoreConfiguration(path: "")
    peers.attach(to: &configuration)
    peers.changed("a")
    configuration.onBegin?(false)
    peers.changed("b")
    #expect(configuration.changedNames?() == .some(["b"]))
    #expect(peers.takeForeign() == .some([]))
    configuration.foreignObserver?(.some(["c"]))
    configuration.foreignObserver?(.some(["d"]))
    let foreign = peers.takeForeign()
    #expect(foreign == .some(["c", "d"]) && foreign.contains("c") && !foreign.contains("b"))
    configuration.foreignObserver?(.all)
    #expect(peers.takeForeign().contains("b") && peers.takeForeign() == .some([]))
  }
}

/// Two gateways on one database of PostgreSQL.
@Suite(.enabled(if: TestStore.usesPostgreSQL)) struct SharedDatabaseTests {
  private struct Pair {
    let first: Harness
    let second: Harness
    let counting: CountingService
    let backend: Backend

    /// Calls through a gateway with an idempotency key.
    func call(
      _ payload: String, key: String, delayMs: Int32 = 0, method: MethodDescriptor = CountingService.count,
      through client: RPCClient
    ) async throws -> String {
      var options = CallOptions(timeoutMs: 20_000)
      options.metadata.add(key, for: "idempotency-key")
      let response: EchoResponse = try await client.unary(
        method, EchoRequest(payload, delayMs: delayMs), options: options)
      return response.payload
    }
  }

  private func withPair(
    _ configure: @escaping (inout GatewayConfiguration) -> Void = { _ in }, _ body: (Pair) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    let counting = CountingService()
    let backend = try await Backend(extra: [counting])
    func harness() async throws -> Harness {
      try await Harness(backends: [backend.address], folder: folder, isMaintained: true) {
        $0.methods += [CountingService.count, CountingService.secret]
        configure(&$0)
      }
    }
    let pair = Pair(first: try await harness(), second: try await harness(), counting: counting, backend: backend)
    do { try await body(pair) } catch { Issue.record(error) }
    await pair.first.stop()
    await pair.second.stop()
    await backend.server.shutdown()
  }

  @Test("a key made at one gateway works at the other, and one that is revoked ends there with its streams")
  func keysAreShared() async throws {
    try await withPair { pair in
      let key = try await pair.first.key()
      try await eventually("the key is known") { pair.second.gateway.keys.ring.count == 1 }
      let echo = EchoServiceClient(try pair.second.client(token: key.secret))
      #expect(try await echo.echo(EchoRequest("a")).payload == "a")
      let watch = Task { for try await _ in echo.expand(.endless) {} }
      try await eventually("the stream is open") { pair.backend.seen.all.count == 2 }
      _ = try await pair.first.admin().revokeApiKey(.init(keyId: try #require(key.apiKey?.id)))
      _ = await expectFailure(.unauthenticated, "CREDENTIAL_REVOKED") { try await watch.value }
      _ = await expectFailure(.unauthenticated, "CREDENTIAL_REVOKED") { try await echo.echo(EchoRequest("a")) }
    }
  }

  @Test("a gateway that has missed too many changes reads all keys, and forgets those that were deleted")
  func manyChangesAreReadAtOnce() async throws {
    try await withPair { pair in
      let (kept, deleted) = (try await pair.first.key(), try await pair.first.key("user/grace"))
      let ring = pair.second.gateway.keys.ring
      try await eventually("both keys are known") { ring.count == 2 }
      let (keptID, id) = (try #require(kept.apiKey?.id), try #require(deleted.apiKey?.id))
      let changes = pair.first.gateway.changes
      try await pair.first.store.write { transaction in
        try transaction.execute("DELETE FROM api_keys WHERE id = $1", [.text(id)])
        for _ in 0...AccessChanges.readMax { try changes.add("k_other", in: transaction) }
      }
      try await eventually("the deleted key is forgotten") { ring.entry(id: id) == nil }
      #expect(ring.count == 1 && ring.entry(id: keptID) != nil)
    }
  }

  @Test("one idempotency key through both gateways at once is carried out once")
  func oneCallOfAKey() async throws {
    try await withPair { pair in
      let key = try await pair.first.key()
      try await eventually("the key is known") { pair.second.gateway.keys.ring.count == 1 }
      let clients = [try pair.first.client(token: key.secret), try pair.second.client(token: key.secret)]
      for number in 0..<20 {
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
          for index in 0..<8 {
            group.addTask {
              try await pair.call("p\(number)", key: "k\(number)", delayMs: 30, through: clients[index % 2])
            }
          }
          return try await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(answers == Array(repeating: "p\(number) 1", count: 8))
      }
      _ = await expectFailure(.failedPrecondition, "IDEMPOTENCY_KEY_REUSED") {
        try await pair.call("other", key: "k1", through: clients[1])
      }
      // A different request while the first call runs at the other gateway.
      async let first = pair.call("slow", key: "s", delayMs: 500, through: clients[0])
      try await eventually("the call runs") { pair.counting.count("slow") == 1 }
      _ = await expectFailure(.failedPrecondition, "IDEMPOTENCY_KEY_REUSED") {
        try await pair.call("other", key: "s", through: clients[1])
      }
      #expect(try await first == "slow 1")
      let claims = try pair.first.store.readSingleBlocking {
        try $0.queryOne("SELECT count(*) FROM reply_claims") { try $0.integer(0) }
      }
      #expect(claims == 0)
    }
  }

  @Test("after a failure, and after the end of the first caller, the other gateway may carry out the request")
  func endedClaimsAreFree() async throws {
    try await withPair { pair in
      let key = try await pair.first.key()
      try await eventually("the key is known") { pair.second.gateway.keys.ring.count == 1 }
      let clients = [try pair.first.client(token: key.secret), try pair.second.client(token: key.secret)]
      for client in clients {
        _ = await expectFailure(.notFound, "NOTHING") { try await pair.call("broken", key: "b", through: client) }
      }
      let secret = try await pair.call("x", key: "s", method: CountingService.secret, through: clients[0])
      #expect(secret == "x 1")
      _ = await expectFailure(.aborted, "REPLY_NOT_KEPT") {
        try await pair.call("x", key: "s", method: CountingService.secret, through: clients[1])
      }
    }
  }

  @Test("the wait for another gateway is bounded, and a claim is free when its gateway has left")
  func waitsAreBounded() async throws {
    try await withPair({ $0.replies.claimWaitMs = 300 }) { pair in
      let key = try await pair.first.key()
      try await eventually("the key is known") { pair.second.gateway.keys.ring.count == 1 }
      let client = try pair.second.client(token: key.secret)
      let other = GatewayMembership(store: pair.first.store, peers: GatewayPeers())
      #expect(try await other.renew() == 3)
      let claims = ReplyClaims(store: pair.first.store, owner: other.name, peers: GatewayPeers())
      let name = IdempotencyKey(
        principal: "user/ada", method: CountingService.count.path, requestID: "k")
      // The request's real hash is not known here, so every other request differs.
      guard case .free = try await claims.lookUp(name, requestHash: [1], nowMs: 0) else {
        Issue.record("the request is claimed")
        return
      }
      #expect(try await claims.lookUp(name, requestHash: [1], nowMs: 0) != .elsewhere)
      let second = ReplyClaims(store: pair.first.store, owner: "g_unknown", peers: GatewayPeers())
      #expect(try await second.lookUp(name, requestHash: [1], nowMs: 0) == .elsewhere)
      // A gateway that has lost its membership claims nothing.
      await #expect(throws: StoreError.self) {
        try await second.lookUp(
          IdempotencyKey(principal: "user/ada", method: "m", requestID: "k"), requestHash: [1], nowMs: 0)
      }
      _ = await expectFailure(.failedPrecondition, "IDEMPOTENCY_KEY_REUSED") {
        try await pair.call("a", key: "k", through: client)
      }
      async let slow = pair.call("slow", key: "w", delayMs: 3_000, through: pair.first.client(token: key.secret))
      try await eventually("the call runs") { pair.counting.count("slow") == 1 }
      let ended = await expectFailure(.aborted, "FIRST_CALL_UNANSWERED") {
        try await pair.call("slow", key: "w", delayMs: 3_000, through: client)
      }
      #expect(ended?.processed == true)
      #expect(try await slow == "slow 1")
      try await other.leave()
      #expect(try await pair.call("a", key: "k", through: client) == "a 1")
    }
  }

  @Test("gateways divide the rates, and the last one has the whole rate")
  func ratesAreShared() async throws {
    try await withPair({ $0.limits.principalRate = RateLimit(perSecond: 100, burst: 200) }) { pair in
      for harness in [pair.first, pair.second] {
        try await eventually("both are counted") { harness.gateway.limits.gatewayCount == 2 }
        #expect(harness.gateway.limits.principalRate.bucket?.burst == 100)
      }
      await pair.second.gateway.stop()
      try await eventually("one is left") { pair.first.gateway.limits.gatewayCount == 1 }
      #expect(pair.first.gateway.limits.principalRate.bucket?.burst == 200)
    }
  }

  @Test("a console session opened at one gateway works at the other, and ends at both")
  func sessionsAreShared() async throws {
    try await withPair { pair in
      let key = try await pair.first.key(scopes: ["admin"])
      let (here, there) = (pair.first.gateway.sessions, pair.second.gateway.sessions)
      let (session, cookie) = try await here.open(
        here.grant(apiKey: key.secret), address: "192.0.2.1", userAgent: "test")
      try await eventually("the session is known") { there.present(cookie) != nil }
      let other = try #require(there.present(cookie)).session
      #expect(other.principalName == session.principalName)
      #expect(there.list(of: nil).map(\.id) == [session.id])
      try await there.end(other, .signedOut)
      try await eventually("the session has ended") { here.present(cookie) == nil }
      #expect(here.count == 0 && session.credential.isRevoked)
    }
  }

  @Test("a link to the console works once, at any gateway, and no longer than its key")
  func linksAreShared() async throws {
    try await withPair { pair in
      let key = try await pair.first.key(scopes: ["notifications:read"])
      try await eventually("the key is known") { pair.second.gateway.keys.ring.count == 1 }
      let (here, there) = (pair.first.gateway.sessions, pair.second.gateway.sessions)
      let made = try here.grant(apiKey: key.secret)
      let token = try await here.links.make(made).token
      let grant = try await there.links.use(token)
      #expect(grant.principal.name == made.principal.name && grant.principal.deviceID == made.principal.deviceID)
      #expect(grant.scopes == made.scopes && grant.method == made.method && grant.endsAtMs == nil)
      let known = try there.grant(apiKey: key.secret).parent
      #expect(grant.keyID == made.keyID && known != nil && grant.parent === known)
      for sessions in [here, there] {
        _ = await expectFailure(.unauthenticated, "LINK_INVALID") { try await sessions.links.use(token) }
      }
      var last = ""
      for _ in 0...here.limits.linksPerPrincipalMax { last = try await here.links.make(made).token }
      let count = try pair.first.store.readSingleBlocking {
        try $0.queryOne("SELECT count(*) FROM sign_in_links") { try $0.integer(0) }
      }
      #expect(count == Int64(here.limits.linksPerPrincipalMax))
      _ = try await pair.first.admin().revokeApiKey(.init(keyId: grant.keyID))
      try await eventually("the key has ended") { grant.parent?.isRevoked == true }
      let ended = try await there.links.use(last)
      _ = await expectFailure(.unauthenticated, "CREDENTIAL_REVOKED") {
        try await there.open(ended, address: "192.0.2.1", userAgent: "test")
      }
    }
  }

  @Test("a use at one gateway postpones the end of a session at the other")
  func usesAreShared() async throws {
    try await withPair { pair in
      let key = try await pair.first.key()
      let (here, there) = (pair.first.gateway.sessions, pair.second.gateway.sessions)
      let (session, cookie) = try await here.open(
        here.grant(apiKey: key.secret), address: "192.0.2.1", userAgent: "test")
      try await eventually("the session is known") { there.present(cookie) != nil }
      let other = try #require(there.session(id: session.id))
      session.use(nowMs: here.nowMs + 5_000)
      try await here.maintain()
      try await there.maintain()
      #expect(other.usedAtMs == session.usedAtMs && other.expiresAtMs == session.expiresAtMs)
    }
  }
}
