import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileStore
import Foundation
import Logging
import ServiceTesting
import TestSupport
import Testing

@testable import Gateway

@Suite struct AccessServiceTests {
  @Test func keySecretIsShownOnceAndStoredAsADigest() async throws {
    let harness = try await Harness(backends: [])
    let request = CreateApiKeyRequest(
      principal: "service/importer", scopes: ["notifications", "notifications", "sync:read"],
      description: "nightly import")
    let made = try await harness.admin().createApiKey(request)
    #expect(made.secret.wholeMatch(of: /cmp_[A-Za-z0-9_-]{43}/) != nil)
    let key = try #require(made.apiKey)
    #expect(key.id.wholeMatch(of: /k_[A-Za-z0-9_-]{12}/) != nil)
    #expect(key.scopes == ["notifications", "sync:read"])
    #expect(key.principal == "service/importer" && key.description == "nightly import")
    #expect(key.createTime != nil && key.expireTime == nil && key.revokeTime == nil && key.lastUseTime == nil)
    let listed = try await harness.admin().listApiKeys(ListApiKeysRequest())
    #expect(listed.apiKeys == [key])
    await harness.stop()
    for name in ["gateway.sqlite", "gateway.sqlite-wal"] {
      guard let bytes = FileManager.default.contents(atPath: harness.folder.file(name)) else { continue }
      #expect(bytes.range(of: Data(made.secret.utf8)) == nil)
    }
  }

  @Test func invalidRequestsAreRefusedWithTheirField() async throws {
    let harness = try await Harness(backends: [])
    let admin = try harness.admin()
    let past = ProtoTimestamp(millisecondsSince1970: 1_000)
    let cases: [(String, (inout CreateApiKeyRequest) -> Void)] = [
      ("principal", { $0.principal = "" }), ("principal", { $0.principal = "ada" }),
      ("principal", { $0.principal = "user/a b" }), ("principal", { $0.principal = "robot/r2" }),
      ("principal", { $0.principal = "user/" + String(repeating: "a", count: 129) }),
      ("scopes[1]", { $0.scopes = ["sync", "Sync"] }), ("scopes[0]", { $0.scopes = ["sync:delete"] }),
      ("scopes[0]", { $0.scopes = ["nothing:read"] }), ("scopes[0]", { $0.scopes = ["admin:read"] }),
      ("scopes[0]", { $0.scopes = [""] }), ("scopes", { $0.scopes = Array(repeating: "sync", count: 33) }),
      ("description", { $0.description = String(repeating: "d", count: 257) }),
      ("description", { $0.description = "a\u{0}b" }), ("expireTime", { $0.expireTime = past }),
    ]
    for (field, change) in cases {
      var request = CreateApiKeyRequest(principal: "user/ada")
      change(&request)
      do {
        _ = try await admin.createApiKey(request)
        Issue.record("accepted: \(request)")
      } catch let error as RPCError {
        #expect(error.code == .invalidArgument)
        #expect(error.fieldViolations.map(\.field) == [field], "\(error)")
      }
    }
    let negative = ListApiKeysRequest(pageSize: -1)
    _ = await expectFailure(.invalidArgument, "OUT_OF_RANGE") { try await admin.listApiKeys(negative) }
    for id in ["", "k/1", String(repeating: "k", count: 65)] {
      _ = await expectFailure(.invalidArgument, "KEY_ID_INVALID") { try await admin.revokeApiKey(.init(keyId: id)) }
      _ = await expectFailure(.invalidArgument, "KEY_ID_INVALID") { try await admin.rotateApiKey(.init(keyId: id)) }
    }
    let reasons: [(String, CreateApiKeyRequest)] = [
      ("TOO_MANY", .init(principal: "user/ada", scopes: Array(repeating: "sync", count: 33))),
      ("SCOPE_INVALID", .init(principal: "user/ada", scopes: ["sync:delete"])),
      ("SCOPE_UNKNOWN", .init(principal: "user/ada", scopes: ["nothing:read"])),
      ("TOO_LONG", .init(principal: "user/ada", description: String(repeating: "d", count: 257))),
      ("DESCRIPTION_INVALID", .init(principal: "user/ada", description: "a\nb")),
      ("PRINCIPAL_INVALID", .init(principal: "robot/r2")),
      ("TOO_LONG", .init(principal: "user/ada", requestId: String(repeating: "r", count: 65))),
    ]
    for (reason, request) in reasons {
      _ = await expectFailure(.invalidArgument, reason) { try await admin.createApiKey(request) }
    }
    // A page size above the limit is cut down to it.
    #expect(try await admin.listApiKeys(ListApiKeysRequest(pageSize: .max)).apiKeys.isEmpty)
    await harness.stop()
  }

  @Test("a key is bound to a device, also after a rotation and a restart")
  func keysAreBoundToADevice() async throws {
    let harness = try await Harness(backends: [])
    let admin = try harness.admin()
    let made = try #require(
      try await admin.createApiKey(CreateApiKeyRequest(principal: "user/ada", deviceId: "watch")).apiKey)
    #expect(made.deviceId == "watch")
    let rotated = try await admin.rotateApiKey(RotateApiKeyRequest(keyId: made.id))
    #expect(rotated.apiKey?.deviceId == "watch")
    #expect(try await admin.listApiKeys(ListApiKeysRequest()).apiKeys.map(\.deviceId).contains("watch"))
    _ = await expectFailure(.invalidArgument, "FIELD_NOT_ALLOWED") {
      try await admin.createApiKey(CreateApiKeyRequest(principal: "service/x", deviceId: "watch"))
    }
    for device in ["a b", "a/b", "a@b", String(repeating: "d", count: 129)] {
      _ = await expectFailure(.invalidArgument, "ID_INVALID") {
        try await admin.createApiKey(CreateApiKeyRequest(principal: "user/ada", deviceId: device))
      }
    }
    await harness.stop()
  }

  @Test func backendsSeeTheDeviceOfACredential() {
    let members = PrincipalMetadata.members(principal: "user/ada", scopes: "sync:read", device: "watch")
    #expect(
      String(decoding: members, as: UTF8.self)
        == #""campanile-principal":"user/ada","campanile-scopes":"sync:read","campanile-device":"watch""#)
    #expect(
      PrincipalMetadata.sizeBytes(principal: "user/ada", scopes: "sync:read", device: "watch")
        == PrincipalMetadata.sizeBytes(principal: "user/ada", scopes: "sync:read") + "campanile-devicewatch".utf8.count)
  }

  @Test func listsArePagedNewestFirst() async throws {
    let harness = try await Harness(backends: [])
    let admin = try harness.admin()
    var made: [String] = []
    for index in 0..<7 { made.append(try #require(try await harness.key("user/u\(index)").apiKey).id) }
    _ = try await admin.revokeApiKey(.init(keyId: made[3]))
    for includesRevoked in [false, true] {
      var request = ListApiKeysRequest(pageSize: 3, includeRevoked: includesRevoked)
      var keys: [ApiKey] = []
      var pages = 0
      repeat {
        let response = try await admin.listApiKeys(request)
        keys += response.apiKeys
        request.pageToken = response.nextPageToken
        pages += 1
      } while !request.pageToken.isEmpty && pages < 10
      #expect(pages == (includesRevoked ? 3 : 2))
      #expect(Set(keys.map(\.id)) == Set(made.filter { includesRevoked || $0 != made[3] }))
      #expect(keys.count == Set(keys.map(\.id)).count)
      let times = keys.compactMap { $0.createTime?.millisecondsSince1970 }
      #expect(times == times.sorted(by: >))
    }
    var request = ListApiKeysRequest(pageSize: 3)
    let token = try await admin.listApiKeys(request).nextPageToken
    request.includeRevoked = true
    for bad in [token, "x", "!!", Base64URL.encode(Array("1:a:x:k".utf8)), Base64URL.encode(Array("2:a:1:k".utf8))] {
      request.pageToken = bad
      _ = await expectFailure(.invalidArgument, "PAGE_TOKEN_INVALID") { try await admin.listApiKeys(request) }
    }
    await harness.stop()
  }

  @Test func keysSurviveARestart() async throws {
    let folder = try TemporaryFolder()
    let first = try await Harness(backends: [], folder: folder)
    let kept = try await first.key("user/kept")
    let ended = try await first.key("user/ended")
    _ = try await first.admin().revokeApiKey(.init(keyId: try #require(ended.apiKey).id))
    let used = try await RawProbe.call(
      try first.client(token: kept.secret), "campanile.gateway.v1.AccessService/ListApiKeys", "{}")
    #expect(used.error?.reason == "SCOPE_MISSING")
    await first.stop()

    let backend = try await Backend()
    let second = try await Harness(backends: [backend.address], folder: folder)
    let echo = EchoServiceClient(try second.client(token: kept.secret))
    #expect(try await echo.echo(EchoRequest("still")).payload == "still")
    #expect(backend.seen.last?.principal?.id == "kept")
    #expect(try await RawSocket.exchange(port: second.port, token: ended.secret).contains("CREDENTIAL_REVOKED"))
    // The first gateway recorded the use when it stopped.
    let listed = try await second.admin().listApiKeys(ListApiKeysRequest())
    #expect(listed.apiKeys.first { $0.principal == "user/kept" }?.lastUseTime != nil)
    await second.stop()
    await backend.server.shutdown()
  }

  @Test func aRotatedKeyWorksUntilTheOverlapEnds() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let old = try await harness.key(scopes: ["echo:read"])
    let echo = EchoServiceClient(try harness.client(token: old.secret))
    _ = try await echo.echo(EchoRequest("a"))
    let access = try harness.admin()
    var request = RotateApiKeyRequest(keyId: try #require(old.apiKey?.id))
    let rotated = try await access.rotateApiKey(request)
    #expect(rotated.secret != old.secret && rotated.apiKey?.id != old.apiKey?.id)
    #expect(rotated.apiKey?.scopes == ["echo:read"] && rotated.apiKey?.principal == "user/ada")
    #expect(rotated.apiKey?.expireTime == nil)
    let end = try #require(rotated.replacedApiKey?.expireTime?.millisecondsSince1970)
    let start = try #require(rotated.apiKey?.createTime?.millisecondsSince1970)
    #expect(end - start == ApiKeyLimits.overlapMsDefault)
    _ = try await echo.echo(EchoRequest("b"))
    let renewed = EchoServiceClient(try harness.client(token: rotated.secret))
    _ = try await renewed.echo(EchoRequest("c"))

    // Without an overlap the old key ends at once, also on open connections.
    request.overlap = ProtoDuration(seconds: 0)
    // The end that the first rotation set for the old key is not passed on.
    #expect(try await access.rotateApiKey(request).apiKey?.expireTime == nil)
    _ = await expectFailure(.unauthenticated, "CREDENTIAL_EXPIRED") { try await echo.echo(EchoRequest("d")) }
    _ = await expectFailure(.failedPrecondition, "KEY_ENDED") { try await access.rotateApiKey(request) }
    request.keyId = "k_nothing"
    _ = await expectFailure(.notFound, "KEY_NOT_FOUND") { try await access.rotateApiKey(request) }
    for seconds in [-1, 30 * 86_400 + 1] as [Int64] {
      request.overlap = ProtoDuration(seconds: seconds)
      _ = await expectFailure(.invalidArgument, "OUT_OF_RANGE") { try await access.rotateApiKey(request) }
    }
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func repeatedRequestsReturnTheFirstResponseWithoutItsSecret() async throws {
    let harness = try await Harness(backends: [])
    let admin = try harness.admin()
    var create = CreateApiKeyRequest(principal: "user/ada", scopes: ["admin"], requestId: "r1")
    var made = try await admin.createApiKey(create)
    let secret = made.secret
    made.secret = ""
    #expect(!secret.isEmpty)
    #expect(try await admin.createApiKey(create) == made)
    // The id belongs to its caller and its method.
    let other = AccessServiceClient(try harness.client(token: secret))
    let foreign = try await other.createApiKey(create)
    #expect(!foreign.secret.isEmpty && foreign.apiKey?.id != made.apiKey?.id)
    create.description = "another"
    let error = await expectFailure(.failedPrecondition, "REQUEST_ID_REUSED") { try await admin.createApiKey(create) }
    #expect(error?.fieldViolations.map(\.field) == ["requestId"])

    let id = try #require(made.apiKey?.id)
    let rotate = RotateApiKeyRequest(keyId: id, overlap: ProtoDuration(seconds: 0), requestId: "r1")
    var rotated = try await admin.rotateApiKey(rotate)
    #expect(!rotated.secret.isEmpty && rotated.replacedApiKey?.id == id)
    rotated.secret = ""
    // The old key has ended by now.
    #expect(try await admin.rotateApiKey(rotate) == rotated)
    #expect(try await admin.listApiKeys(ListApiKeysRequest()).apiKeys.count == 3)
    await harness.stop()
    for name in ["gateway.sqlite", "gateway.sqlite-wal"] {
      guard let bytes = FileManager.default.contents(atPath: harness.folder.file(name)) else { continue }
      #expect(bytes.range(of: Data(secret.utf8)) == nil)
    }
  }

  @Test func storedRequestsEndAfterADay() async throws {
    let folder = try TemporaryFolder()
    let store = try Store(TestStore.configuration(folder.file("g.sqlite")), migrations: Gateway.migrations)
    let clock = TestClock(1_000_000)
    let keys = KeyStore(store: store, ring: KeyRing(services: [], nowMs: { clock.nowMs }))
    let audit = AuditLog(
      repository: AuditEventRepository(store: store), logger: Logger(label: "test"), nowMs: { clock.nowMs })
    let sessions = try ConsoleSessions(store: store, keys: keys.ring, audit: audit)
    let service = AccessServiceImplementation(keys: keys, audit: audit, sessions: sessions, services: { [] })
    let method = try #require(AccessServiceMethods.all.first { $0.path.hasSuffix("/CreateApiKey") })
    let context = CallContext(method: method, principal: Principal(kind: .service, id: "admin", scopes: ["admin"]))
    let request = CreateApiKeyRequest(principal: "user/ada", requestId: "r1")
    let first = try await service.createApiKey(request, context: context)
    clock.nowMs += ReplyRetention.retentionMs - 1
    try await keys.deleteEnded()
    #expect(try await service.createApiKey(request, context: context).apiKey == first.apiKey)
    clock.nowMs += 1
    #expect(try await service.createApiKey(request, context: context).apiKey != first.apiKey)
    clock.nowMs += ReplyRetention.retentionMs
    try await keys.deleteEnded()
    let left = try store.readSingleBlocking {
      try $0.queryOne("SELECT count(*) FROM api_key_requests") { try $0.integer(0) }
    }
    #expect(left == 0)
    await store.close()
  }

  @Test func aRotatedKeyKeepsItsLifetime() async throws {
    let folder = try TemporaryFolder()
    let store = try Store(TestStore.configuration(folder.file("g.sqlite")), migrations: Gateway.migrations)
    let clock = TestClock(1_000_000)
    let keys = KeyStore(store: store, ring: KeyRing(services: [], nowMs: { clock.nowMs }))
    let principal = Principal(kind: .service, id: "ci")
    let made = try await keys.create(principal: principal, scopes: [], description: "ci", expiresAtMs: 1_060_000)
    clock.nowMs = 1_050_000
    let rotated = try #require(try await keys.rotate(made.key.id, overlapMs: 60_000, expiresAtMs: nil))
    #expect(rotated.key.expiresAtMs == 1_110_000 && rotated.key.description == "ci")
    // The old key does not live longer than without the rotation.
    #expect(rotated.replaced.expiresAtMs == 1_060_000)
    let chosen = try #require(try await keys.rotate(rotated.key.id, overlapMs: 5, expiresAtMs: 2_000_000))
    #expect(chosen.key.expiresAtMs == 2_000_000 && chosen.replaced.expiresAtMs == 1_050_005)
    clock.nowMs = 1_050_005
    #expect(throws: CredentialFault.expired) { try keys.ring.authenticate(rotated.secret.text).get() }
    #expect(try keys.ring.authenticate(chosen.secret.text).get().id == chosen.key.id)
    await store.close()
  }

  @Test(.onSQLite) func queriesUseIndexes() async throws {
    let harness = try await Harness(backends: [])
    for sql in [
      "SELECT id FROM api_keys WHERE (created_at_ms, id) < (1, '') AND revoked_at_ms IS NULL"
        + " ORDER BY created_at_ms DESC, id DESC LIMIT 3",
      "SELECT id FROM api_keys WHERE (created_at_ms, id) < (1, '') ORDER BY created_at_ms DESC, id DESC LIMIT 3",
      "SELECT id FROM api_keys WHERE revoked_at_ms IS NOT NULL AND revoked_at_ms < 5 LIMIT 1000",
      "SELECT id FROM api_keys WHERE expires_at_ms IS NOT NULL AND expires_at_ms < 5 LIMIT 1000",
      "SELECT principal FROM api_key_requests WHERE expires_at_ms <= 5 ORDER BY expires_at_ms LIMIT 1000",
    ] { #expect(try harness.store.fullScans(sql).isEmpty, "\(sql)") }
    await harness.stop()
  }

  @Test func endedKeysAreDeletedAfterTheRetention() async throws {
    let folder = try TemporaryFolder()
    let store = try Store(TestStore.configuration(folder.file("g.sqlite")), migrations: Gateway.migrations)
    let clock = TestClock(1_000_000)
    let keys = KeyStore(store: store, ring: KeyRing(services: [], nowMs: { clock.nowMs }))
    let principal = Principal(kind: .user, id: "ada")
    let revoked = try await keys.create(principal: principal, scopes: [], description: "", expiresAtMs: nil)
    let expiring = try await keys.create(principal: principal, scopes: [], description: "", expiresAtMs: 1_500_000)
    let kept = try await keys.create(principal: principal, scopes: [], description: "", expiresAtMs: nil)
    _ = try await keys.revoke(revoked.key.id)
    clock.nowMs = 1_500_000 + ApiKeyLimits.retentionMs
    try await keys.deleteEnded()
    #expect(try await keys.repository.find(revoked.key.id) == nil)
    #expect(try await keys.repository.find(expiring.key.id) != nil)
    clock.nowMs += 1
    try await keys.deleteEnded()
    #expect(try await keys.repository.find(expiring.key.id) == nil)
    #expect(try await keys.repository.find(kept.key.id) != nil)
    #expect(keys.ring.count == 1)
    _ = await expectFailure(.resourceExhausted, "KEY_LIMIT") {
      try await keys.repository.insert(kept.key, keysMax: 1)
    }
    await store.close()
  }

  @Test func bootstrapKeyIsCreatedOnceAndReplacedAfterItsEnd() async throws {
    let folder = try TemporaryFolder()
    let file = folder.file("admin.key")
    let harness = try await Harness(backends: [])
    func secret() throws -> String {
      try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .newlines)
    }
    try await harness.gateway.bootstrapAdminKey(file: file)
    let first = try secret()
    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    try await harness.gateway.bootstrapAdminKey(file: file)
    #expect(try secret() == first)
    let admin = AccessServiceClient(try harness.client(token: first))
    let listed = try await admin.listApiKeys(ListApiKeysRequest())
    #expect(listed.apiKeys.map(\.principal) == ["service/admin"])
    _ = try await admin.revokeApiKey(.init(keyId: listed.apiKeys[0].id))
    try await harness.gateway.bootstrapAdminKey(file: file)
    #expect(try secret() != first)

    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
    _ = await expectFailure(.failedPrecondition, "BOOTSTRAP_KEY_FILE") {
      try await harness.gateway.bootstrapAdminKey(file: file)
    }
    let other = folder.file("other.key")
    try "not a key".write(toFile: other, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: other)
    _ = await expectFailure(.failedPrecondition, "BOOTSTRAP_KEY_FILE") {
      try await harness.gateway.bootstrapAdminKey(file: other)
    }
    await harness.stop()
  }
}
