import CampanileAPI
import CampanileBase
import CampanileCrypto
import CampanileRPC
import CampanileStore
import Foundation
import Logging
import ServiceTesting
import TestSupport
import Testing

@testable import Gateway

/// Sessions and links with an injected clock.
@Suite struct ConsoleSessionTests {
  /// The parts of a gateway that use its database, without its servers.
  final class Setting {
    let folder: TemporaryFolder
    let clock: TestClock
    let store: Store
    let changes: AccessChanges
    let ring: KeyRing
    let keys: KeyStore
    let sessions: ConsoleSessions

    init(
      _ folder: TemporaryFolder? = nil, clock: TestClock = TestClock(), limits: (inout ConsoleLimits) -> Void = { _ in }
    ) async throws {
      self.folder = try folder ?? TemporaryFolder()
      self.clock = clock
      store = try Store(TestStore.configuration(self.folder.file("gateway.sqlite")), migrations: Gateway.migrations)
      ring = KeyRing(services: ["echo", "attendance"], nowMs: { clock.nowMs })
      changes = AccessChanges(peers: GatewayPeers(), store: store)
      keys = KeyStore(store: store, ring: ring, changes: changes)
      var limit = ConsoleLimits()
      limits(&limit)
      let audit = AuditLog(
        repository: AuditEventRepository(store: store, limits: limit), logger: Logger(label: "test"),
        nowMs: { clock.nowMs })
      sessions = try ConsoleSessions(store: store, keys: ring, audit: audit, limits: limit, changes: changes)
      try await keys.load()
      try await sessions.load()
    }

    func key(
      _ name: String = "user/ada", scopes: [String] = []
    ) async throws -> (key: StoredApiKey, secret: CallerSecret) {
      try await keys.create(
        principal: try #require(Principal(name)), scopes: scopes.compactMap { Scope($0) }, description: "",
        expiresAtMs: nil)
    }

    func open(_ secret: CallerSecret) async throws -> (session: OpenConsoleSession, cookie: String) {
      try await sessions.open(
        try sessions.grant(apiKey: secret.text), address: "10.0.0.1", userAgent: "Browser\u{7}/1 é")
    }

    func events() async throws -> [StoredAuditEvent] {
      try await sessions.audit.repository.list(before: nil, action: .unspecified, count: 1_000)
    }
  }

  private static let hourMs: Int64 = 3_600_000

  @Test("a session ends 8 hours after its last use, and after 24 hours in any case")
  func idleSessionsEnd() async throws {
    let setting = try await Setting()
    let (_, secret) = try await setting.key()
    let (session, cookie) = try await setting.open(secret)
    #expect(session.expiresAtMs == setting.clock.nowMs + 8 * Self.hourMs)
    for _ in 0..<3 {
      setting.clock.advance(by: .milliseconds(8 * Self.hourMs - 1))
      if setting.clock.nowMs < session.endsAtMs { #expect(setting.sessions.present(cookie) != nil) }
    }
    #expect(session.expiresAtMs == session.endsAtMs)
    setting.clock.advance(by: .milliseconds(3))
    #expect(setting.sessions.present(cookie) == nil)
    let (idle, other) = try await setting.open(secret)
    setting.clock.advance(by: .milliseconds(8 * Self.hourMs))
    #expect(setting.sessions.present(other) == nil)
    #expect(setting.sessions.list(of: nil).isEmpty)
    #expect(idle.credential.fault(nowMs: { setting.clock.nowMs })?.reason == "CREDENTIAL_EXPIRED")
    try await setting.sessions.maintain()
    #expect(setting.sessions.count == 0)
    await setting.store.close()
  }

  @Test("sessions and their last use survive a restart; only hashes are stored")
  func sessionsSurviveARestart() async throws {
    let setting = try await Setting()
    let (key, secret) = try await setting.key("user/ada", scopes: ["echo:read"])
    let (session, cookie) = try await setting.open(secret)
    setting.clock.advance(by: .milliseconds(5 * Self.hourMs))
    #expect(setting.sessions.present(cookie) != nil)
    try await setting.sessions.maintain()
    await setting.store.close()
    for name in ["gateway.sqlite", "gateway.sqlite-wal"] {
      guard let bytes = FileManager.default.contents(atPath: setting.folder.file(name)) else { continue }
      #expect(bytes.range(of: Data(cookie.utf8)) == nil)
      #expect(bytes.range(of: Data(cookie.dropFirst(4).utf8)) == nil)
    }
    let again = try await Setting(setting.folder, clock: setting.clock)
    setting.clock.advance(by: .milliseconds(7 * Self.hourMs))
    let found = try #require(again.sessions.present(cookie))
    #expect(found.session.id == session.id && found.session.stored.keyID == key.id)
    #expect(found.session.stored.userAgent == "Browser/1 ")
    #expect(found.session.credential.scopes.map(\.description) == ["echo:read"])
    #expect(found.session.credential.parent === again.ring.entry(id: key.id))
    await again.store.close()
  }

  @Test("the end of a key ends its sessions")
  func keysEndTheirSessions() async throws {
    let setting = try await Setting()
    let (key, secret) = try await setting.key()
    let (_, cookie) = try await setting.open(secret)
    let bearer = try #require(setting.sessions.present(cookie)).authorization.dropFirst(7)
    _ = try await setting.keys.revoke(key.id)
    #expect(setting.sessions.present(cookie) == nil)
    guard case .failure(let error) = setting.sessions.authenticate(String(bearer)) else {
      return #expect(Bool(false), "the session is open")
    }
    #expect(error.reason == "CREDENTIAL_REVOKED")
    #expect(throws: RPCError.self) { try setting.sessions.grant(apiKey: secret.text) }
    await setting.store.close()
  }

  @Test("the token that stands for a session works in its own process only")
  func bearersAreOfOneProcess() async throws {
    let setting = try await Setting()
    let (_, secret) = try await setting.key()
    let (session, cookie) = try await setting.open(secret)
    let bearer = String(try #require(setting.sessions.present(cookie)).authorization.dropFirst(7))
    guard case .success(let credential) = setting.sessions.authenticate(bearer) else {
      return #expect(Bool(false), "the bearer is not accepted")
    }
    #expect(credential === session.credential)
    let other = try ConsoleSessions(store: setting.store, keys: setting.ring, audit: setting.sessions.audit)
    try await other.load()
    for text in [cookie, "ccs_", "ccs_.\(session.id)", String(bearer.dropLast()), bearer + "x"] {
      guard case .failure(let error) = setting.sessions.authenticate(text) else {
        Issue.record("accepted: \(text)")
        continue
      }
      #expect(error.reason == "CREDENTIAL_INVALID")
    }
    guard case .failure = other.authenticate(bearer) else { return #expect(Bool(false), "accepted elsewhere") }
    await setting.store.close()
  }

  @Test("a further session replaces the principal's least recently used; all together are limited")
  func sessionsAreLimited() async throws {
    let setting = try await Setting {
      $0.sessionsPerPrincipalMax = 2
      $0.sessionsMax = 3
    }
    let (_, ada) = try await setting.key()
    let first = try await setting.open(ada)
    setting.clock.advance(by: .seconds(2))
    let second = try await setting.open(ada)
    setting.clock.advance(by: .seconds(2))
    #expect(setting.sessions.present(first.cookie) != nil)
    let third = try await setting.open(ada)
    #expect(setting.sessions.present(second.cookie) == nil)
    #expect(setting.sessions.present(first.cookie) != nil && setting.sessions.present(third.cookie) != nil)
    #expect(second.session.credential.isRevoked)
    let (_, bob) = try await setting.key("user/bob")
    _ = try await setting.open(bob)
    let (_, eve) = try await setting.key("user/eve")
    _ = await expectFailure(.resourceExhausted, "SESSIONS_EXHAUSTED") { try await setting.open(eve) }
    await setting.store.close()
  }

  @Test("a link opens one session within a minute")
  func linksWorkOnce() async throws {
    let setting = try await Setting { $0.linksPerPrincipalMax = 2 }
    let (_, secret) = try await setting.key()
    let grant = try setting.sessions.grant(apiKey: secret.text)
    let links = setting.sessions.links
    let first = try links.create(grant)
    #expect(first.token.wholeMatch(of: /csl_[A-Za-z0-9_-]{43}/) != nil)
    #expect(try links.take(first.token).keyID == grant.keyID)
    func invalid(_ token: String) { #expect(throws: RPCError.self) { try links.take(token) } }
    invalid(first.token)
    let late = try links.create(grant)
    setting.clock.advance(by: .seconds(60))
    invalid(late.token)
    let made = try (0..<3).map { _ in try links.create(grant).token }
    invalid(made[0])
    for token in ["", "csl_", "csl_" + String(repeating: "A", count: 43), secret.text] { invalid(token) }
    // A key that ended after its link was made opens no session.
    let last = try links.take(made[2])
    _ = try await setting.keys.revoke(grant.keyID)
    _ = await expectFailure(.unauthenticated, "CREDENTIAL_REVOKED") {
      try await setting.sessions.open(last, address: "", userAgent: "")
    }
    await setting.store.close()
  }

  @Test("a member's session is encrypted with the cookie", .onSQLite)
  func lodgeTokensAreSealed() async throws {
    let setting = try await Setting()
    let token = "cas_" + String(repeating: "x", count: 42) + "w"
    let grant = try #require(ConsoleGrant(lodgeMember: "m_1", token: token))
    let (session, cookie) = try await setting.sessions.open(grant, address: "", userAgent: "")
    #expect(setting.sessions.present(cookie)?.lodgeToken == token)
    #expect(session.stored.principal.name == "user/lodge.m_1")
    let requirement = Requirement(kind: .read, serviceIndex: 0)
    #expect(!session.credential.rights.allows(requirement))
    #expect(session.credential.rights.allows(Requirement(kind: .write, serviceIndex: 1)))
    #expect(setting.sessions.grant(of: session.credential, .link) == nil)
    await setting.store.close()
    let bytes = try #require(FileManager.default.contents(atPath: setting.folder.file("gateway.sqlite")))
    #expect(bytes.range(of: Data(LodgeToken.bytes(token) ?? [])) == nil)
    let again = try await Setting(setting.folder, clock: setting.clock)
    #expect(again.sessions.session(id: session.id)?.knownLodgeToken == nil)
    #expect(again.sessions.present(cookie)?.lodgeToken == token)
    await again.store.close()
  }

  @Test("the audit log has sign-ins and their ends; failures of a minute are one event; old ones are deleted")
  func eventsAreStored() async throws {
    let setting = try await Setting { $0.auditEventsMax = 4 }
    let (_, secret) = try await setting.key()
    let (session, _) = try await setting.open(secret)
    for address in ["10.0.0.1", "10.0.0.1", "10.0.0.2"] {
      await setting.sessions.signInFailed(.apiKey, address: address, reason: "CREDENTIAL_INVALID")
    }
    await setting.sessions.signInFailed(.link, address: "10.0.0.1", reason: "LINK_INVALID")
    try await setting.sessions.end(session, .signedOut, address: "10.0.0.9")
    var events = try await setting.events()
    #expect(events.map(\.action) == [.signedOut, .signInFailed, .signInFailed, .signInFailed, .signedIn])
    #expect(events.map(\.count) == [1, 1, 1, 2, 1])
    #expect(events[0].principal == "user/ada" && events[0].subject == session.id && events[0].address == "10.0.0.9")
    #expect(events[4].address == "10.0.0.1" && events[4].method == .apiKey)
    setting.clock.advance(by: .milliseconds(60_001))
    await setting.sessions.signInFailed(.apiKey, address: "10.0.0.1", reason: "CREDENTIAL_EXPIRED")
    #expect(try await setting.events().count == 6)
    try await setting.sessions.audit.purge()
    #expect(try await setting.events().count == 4)
    setting.clock.advance(by: .milliseconds(91 * 24 * Self.hourMs))
    try await setting.sessions.audit.purge()
    #expect(try await setting.events().isEmpty)
    await setting.sessions.signInFailed(.lodge, address: "", reason: "CREDENTIALS_INVALID")
    events = try await setting.events()
    #expect(events.count == 1 && events[0].method == .lodge)
    await setting.store.close()
  }

  @Test("failures from one IPv6 network are one event, so that its addresses do not displace the log")
  func failuresOfANetworkAreOneEvent() async throws {
    let setting = try await Setting()
    for number in 1...50 {
      await setting.sessions.signInFailed(.apiKey, address: "2001:db8::\(number)", reason: "CREDENTIAL_INVALID")
    }
    let events = try await setting.events()
    #expect(events.map(\.count) == [50] && events.map(\.address) == ["2001:db8:0:0::/64"])
    await setting.store.close()
  }

  @Test("the search for an earlier failure reads only the events of the window", .onSQLite)
  func failuresAreFoundByTheirAge() async throws {
    let setting = try await Setting()
    let plan = try setting.store.queryPlan(AuditEventRepository.failureSQL)
    #expect(plan.contains { $0.contains("audit_events_of_action (action=? AND id>?)") }, "\(plan)")
    #expect(plan.contains { $0.contains("audit_events_age (created_at_ms<?)") }, "\(plan)")
    await setting.store.close()
  }

  @Test("a session whose deletion failed stays ended, and is known to the maintenance that deletes it")
  func failedDeletionsAreRepeated() async throws {
    let setting = try await Setting()
    let (_, secret) = try await setting.key()
    let (session, cookie) = try await setting.open(secret)
    await setting.store.close()
    await #expect(throws: (any Error).self) { try await setting.sessions.end(session, .sessionRevoked) }
    #expect(setting.sessions.present(cookie) == nil && setting.sessions.list(of: nil).isEmpty)
    await #expect(throws: (any Error).self) { try await setting.sessions.maintain() }
    #expect(setting.sessions.count == 1)
  }
}
