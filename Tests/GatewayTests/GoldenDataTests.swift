import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Gateway

/// Data that earlier versions have written are the same after the upgrade.
@Suite struct GoldenDataTests {
  private typealias Setting = ConsoleSessionTests.Setting

  /// The keys whose secrets the tests present. A secret consists of its letter.
  private enum Key: String, CaseIterable {
    case active = "A"
    case expired = "E"
    case revoked = "I"
    case rotated = "M"
    case unknown = "Q"
  }

  private static let golden = GoldenData()
  /// The time of the answers.
  private static let answeredAtMs: Int64 = 1_770_000_060_000
  private static let context = CallContext(
    method: AccessServiceMethods.createApiKey, principal: Principal(kind: .service, id: "admin", scopes: ["admin"]))
  private static let request = CreateApiKeyRequest(
    principal: "service/importer", scopes: ["echo:read"], description: "nightly import", requestId: "r1")
  private static let requestHash: [UInt8] = [1, 2, 3]
  private static let lodgeToken = "cas_" + String(repeating: "A", count: 43)

  @Test(arguments: golden.dumps) func dataOfEarlierVersionsAreUnchanged(_ dump: GoldenData.Dump) async throws {
    let folder = try TemporaryFolder()
    try await Self.golden.load(dump, into: folder.file("gateway.sqlite"), migrations: Gateway.migrations)
    let setting = try await Setting(folder, clock: TestClock(Self.answeredAtMs))
    let found = try await answers(setting)
    #expect(try found == Self.golden.answers(dump))
    if dump.isOfServer {
      // A link of an earlier version is still valid. Those of a file's gateway are in memory.
      let grant = try await setting.sessions.links.use(Self.secret(.link, "A").text)
      #expect(grant.principal.name == "user/ada" && grant.parent != nil)
    }
    await setting.store.close()
  }

  @Test(.whenWritingGoldenData) func writeData() async throws {
    let setting = try await Setting()
    let grant = try await writeKeys(setting)
    try await writeSessions(setting, grant)
    try await writeReplies(setting)
    setting.clock.nowMs = Self.answeredAtMs
    if setting.store.isShared {
      let links = SharedLinkTable(store: setting.store, keys: setting.ring, limits: ConsoleLimits())
      try await links.insert(Self.secret(.link, "A").digest, grant, nowMs: Self.answeredAtMs)
    }
    let answers = try await self.answers(setting)
    await setting.store.close()
    try Self.golden.write(setting.folder.file("gateway.sqlite"), answers: answers)
  }

  /// Stores keys in each state, and returns the grant of the active one.
  private func writeKeys(_ setting: Setting) async throws -> ConsoleGrant {
    let (clock, keys) = (setting.clock, setting.keys)
    func make(_ key: Key, _ principal: Principal, lifetimeMs: Int64? = nil) async throws -> StoredApiKey {
      clock.advance(by: .seconds(1))
      return try await keys.create(
        principal: principal, scopes: ["echo:read", "attendance"].compactMap { Scope($0) }, description: "Café \(key)",
        expiresAtMs: lifetimeMs.map { clock.nowMs + $0 }, secret: Self.secret(.key, key.rawValue)
      ).key
    }
    let ada = Principal(kind: .user, id: "ada", deviceID: "watch")
    _ = try await make(.active, ada)
    _ = try await make(.expired, ada, lifetimeMs: 20_000)
    let revoked = try await make(.revoked, ada)
    let rotated = try await make(.rotated, Principal(kind: .service, id: "importer"), lifetimeMs: 86_400_000)
    clock.advance(by: .seconds(1))
    let access = access(setting)
    _ = try await access.revokeApiKey(.init(keyId: revoked.id), context: Self.context)
    _ = try await access.rotateApiKey(.init(keyId: rotated.id), context: Self.context)
    clock.advance(by: .seconds(1))
    _ = try await access.createApiKey(Self.request, context: Self.context)
    let grant = try setting.sessions.grant(apiKey: Self.secret(.key, Key.active.rawValue).text)
    try await keys.flushUses()
    return grant
  }

  /// Stores sessions of a key and of a member, and events of sign-ins.
  private func writeSessions(_ setting: Setting, _ grant: ConsoleGrant) async throws {
    let sessions = setting.sessions
    let (_, cookie) = try await sessions.open(
      grant, address: "192.0.2.1", userAgent: "Browser/1", secret: Self.secret(.session, "A"))
    let member = try #require(ConsoleGrant(lodgeMember: "m1", token: Self.lodgeToken))
    _ = try await sessions.open(member, address: "192.0.2.2", userAgent: "", secret: Self.secret(.session, "E"))
    let (ended, _) = try await sessions.open(
      member, address: "192.0.2.2", userAgent: "", secret: Self.secret(.session, "I"))
    try await sessions.end(ended, .signedOut)
    for _ in 0..<2 { await sessions.signInFailed(.apiKey, address: "192.0.2.3", reason: "CREDENTIAL_INVALID") }
    setting.clock.advance(by: .seconds(5))
    _ = try #require(sessions.present(cookie))
    try await sessions.maintain()
  }

  private func writeReplies(_ setting: Setting) async throws {
    let whole = StoredReply.encode(Array(#"{"payload":"a 1"}"#.utf8), sizeBytesMax: 1_024)
    let expiresAtMs = setting.clock.nowMs + ReplyRetention.retentionMs
    for (id, reply) in [("k1", whole), ("k2", StoredReply.secret)] {
      _ = try await setting.store.write { transaction in
        try ReplyTable.store(
          reply, Self.key(id), requestHash: Self.requestHash, expiresAtMs: expiresAtMs, usage: ReplyUsage.Amount(),
          ReplyLimits(), in: transaction)
      }
    }
  }

  private func answers(_ setting: Setting) async throws -> [String] {
    let access = access(setting)
    let console = ConsoleServiceImplementation(sessions: setting.sessions, path: nil)
    var answers = try await [
      access.listApiKeys(.init(includeRevoked: true), context: Self.context).jsonString(),
      access.listApiKeys(.init(), context: Self.context).jsonString(),
      access.createApiKey(Self.request, context: Self.context).jsonString(),
      console.listAuditEvents(.init(), context: Self.context).jsonString(),
    ]
    for key in Key.allCases {
      let outcome = setting.ring.authenticate(try Self.secret(.key, key.rawValue).text)
      let text = Self.text(outcome) { "\($0.id) \($0.principal.name) \($0.principal.deviceID) \($0.scopes)" }
      answers.append("key \(key): \(text)")
    }
    answers.append("sessions: \(setting.sessions.list(of: nil).map(\.id))")
    for letter in ["A", "E", "I"] {
      let found = setting.sessions.present(try Self.secret(.session, letter).text)
      let text = found.map { found in
        let session = found.session
        return "\(session.id) \(session.principalName) \(session.credential.scopes) \(session.stored.userAgent) "
          + "\(session.expiresAtMs) \(session.endsAtMs) \(found.lodgeToken == Self.lodgeToken)"
      }
      answers.append("session \(letter): \(text ?? "none")")
    }
    for id in ["k1", "k2", "k3"] {
      let kept = try await setting.store.write { transaction in
        try transaction.storedReply(Self.key(id), requestHash: Self.requestHash, nowMs: Self.answeredAtMs)
      }
      let text = kept.map { Self.text(StoredReply.decode($0)) { String(decoding: $0, as: UTF8.self) } }
      answers.append("reply \(id): \(text ?? "none")")
    }
    let usage = try await setting.store.readSingle { try ReplyTable.usage(in: $0) }.total
    answers.append("replies: \(usage.count), \(usage.sizeBytes) bytes")
    let changes = try await setting.changes.after(0)
    answers.append("changes: \(changes.revision) \(changes.subjects ?? [])")
    return answers
  }

  private func access(_ setting: Setting) -> AccessServiceImplementation {
    AccessServiceImplementation(
      keys: setting.keys, audit: setting.sessions.audit, sessions: setting.sessions, services: { [] })
  }

  /// Returns a secret that a later run can present, and that nobody mistakes for a real one.
  private static func secret(_ kind: CallerSecret.Kind, _ letter: String) throws -> CallerSecret {
    try #require(CallerSecret(kind.prefix + String(repeating: letter, count: 43), kind))
  }

  private static func key(_ id: String) -> IdempotencyKey {
    IdempotencyKey(principal: "user/ada", method: "campanile.rpc.v1.EchoService/Echo", requestID: id)
  }

  private static func text<T>(_ outcome: Result<T, RPCError>, _ describe: (T) -> String) -> String {
    switch outcome {
    case .success(let value): describe(value)
    case .failure(let error): error.reason
    }
  }
}
