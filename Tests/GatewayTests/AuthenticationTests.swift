import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Gateway

@Suite struct AuthenticationTests {
  private func bearer(_ value: String) -> CallOptions {
    CallOptions(timeoutMs: 5_000, metadata: ["authorization": value])
  }

  @Test func callsWithoutACredentialAreNotForwarded() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let client = try harness.client()
    let error = await expectFailure(.unauthenticated, "CREDENTIAL_MISSING") {
      try await EchoServiceClient(client).echo(EchoRequest("a"))
    }
    #expect(error?.processed == false)
    _ = await expectFailure(.unauthenticated, "CREDENTIAL_MISSING") {
      try await AccessServiceClient(client).listApiKeys(ListApiKeysRequest())
    }
    // A stranger does not learn which methods exist.
    let unknown = try await RawProbe.call(client, "campanile.rpc.v1.NoService/No", "{}")
    #expect(unknown.error?.reason == "CREDENTIAL_MISSING")
    #expect(backend.seen.all.isEmpty)
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func wrongCredentialsAreRefusedEverywhere() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let secret = try await harness.key().secret
    let echo = EchoServiceClient(try harness.client())
    let altered = String(secret.dropLast()) + (secret.hasSuffix("A") ? "B" : "A")
    for value in [
      "Bearer \(altered)", "Bearer cmp_short", "Bearer", "Basic \(secret)", secret, "", "Bearer \(secret) x",
      "Bearer " + String(repeating: "a", count: 1000), "Bearer \(internalToken)",
    ] {
      _ = await expectFailure(.unauthenticated, "CREDENTIAL_INVALID") {
        try await echo.echo(EchoRequest("a"), options: bearer(value))
      }
    }
    var twice = bearer("Bearer \(secret)")
    twice.metadata.add("Bearer \(secret)", for: "authorization")
    _ = await expectFailure(.unauthenticated, "CREDENTIAL_INVALID") {
      try await echo.echo(EchoRequest("a"), options: twice)
    }
    #expect(try await echo.echo(EchoRequest("a"), options: bearer("bearer  \(secret)")).payload == "a")
    for token in [altered, "nonsense"] {
      let answer = try await RawSocket.exchange(port: harness.port, token: token)
      #expect(answer.contains("CREDENTIAL_INVALID"))
    }
    #expect(backend.seen.all.count == 1)
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func aRevokedKeyEndsAtOnceOnOpenConnectionsToo() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let key = try await harness.key()
    let echo = EchoServiceClient(try harness.client(token: key.secret))
    let byMetadata = EchoServiceClient(try harness.client())
    _ = try await echo.echo(EchoRequest("a"))
    _ = try await byMetadata.echo(EchoRequest("a"), options: bearer("Bearer \(key.secret)"))
    let watch = Task { for try await _ in echo.expand(.endless) {} }
    try await eventually("the stream is open") { backend.seen.all.count == 3 }

    var request = RevokeApiKeyRequest(keyId: try #require(key.apiKey?.id))
    let revoked = try await harness.admin().revokeApiKey(request)
    #expect(revoked.apiKey?.revokeTime != nil)
    _ = await expectFailure(.unauthenticated, "CREDENTIAL_REVOKED") { try await echo.echo(EchoRequest("b")) }
    _ = await expectFailure(.unauthenticated, "CREDENTIAL_REVOKED") {
      try await byMetadata.echo(EchoRequest("b"), options: bearer("Bearer \(key.secret)"))
    }
    _ = await expectFailure(.unauthenticated, "CREDENTIAL_REVOKED") { try await watch.value }
    // Revoking again changes nothing, not even the time.
    #expect(try await harness.admin().revokeApiKey(request) == revoked)
    request.keyId = "k_nothing"
    _ = await expectFailure(.notFound, "KEY_NOT_FOUND") { try await harness.admin().revokeApiKey(request) }
    #expect(backend.seen.all.count == 3)
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func keysExpire() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let soon = ProtoTimestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000) + 3_000)
    let key = try await harness.key(expireTime: soon)
    let echo = EchoServiceClient(try harness.client(token: key.secret))
    try await eventually("the key expires") {
      do {
        _ = try await echo.echo(EchoRequest("a"))
        return false
      } catch let error as RPCError { return error.reason == "CREDENTIAL_EXPIRED" && error.code == .unauthenticated }
    }
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func scopesAreEnforced() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let reader = try await harness.echo(scopes: ["echo:read"])
    let writer = try await harness.echo(scopes: ["echo:write"])
    let other = try await harness.echo(scopes: ["notifications"])
    let admin = try await harness.echo(scopes: ["admin"])
    #expect(try await reader.echo(EchoRequest("r")).payload == "r")
    let refused = await expectFailure(.permissionDenied, "SCOPE_MISSING") { try await reader.fail(FailRequest()) }
    #expect(refused?.errorMetadata == ["scope": "echo:write"])
    #expect(refused?.processed == false)
    _ = await expectFailure(.permissionDenied, "SCOPE_MISSING") { try await writer.echo(EchoRequest("w")) }
    _ = await expectFailure(.invalidArgument, "FIELD_INVALID") { try await writer.fail(FailRequest()) }
    _ = await expectFailure(.permissionDenied, "SCOPE_MISSING") { try await other.echo(EchoRequest("o")) }
    #expect(try await admin.echo(EchoRequest("a")).payload == "a")
    let access = AccessServiceClient(try harness.client(token: try await harness.key(scopes: ["echo"]).secret))
    _ = await expectFailure(.permissionDenied, "SCOPE_MISSING") { try await access.listApiKeys(ListApiKeysRequest()) }
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func credentialEndsWithItsCertificate() async throws {
    let harness = try await Harness(backends: [])
    for (endMs, isOver) in [(Int64(1_000), true), (.max - 1, false)] {
      let decision = harness.gateway.helloAuthenticator.authenticate(
        certificateURIs: ["campanile:user/ada"], expiresAtMs: endMs)
      guard case .credential(let principal, let object) = decision else {
        Issue.record("the certificate must name a user")
        continue
      }
      let credential = try #require(object as? Credential)
      #expect(principal.name == "user/ada")
      #expect((credential.fault(nowMs: { 2_000 }) != nil) == isOver)
    }
    await harness.stop()
  }

  @Test func credentialOfALongFrameIsJudgedByItsHead() async throws {
    let harness = try await Harness(backends: [])
    let judge = harness.gateway.helloAuthenticator
    if judge.authenticate(metadata: [:], remoteHost: "192.0.2.1") != nil { Issue.record("a decision without metadata") }
    let key = try await harness.key().secret
    guard case .credential = judge.authenticate(metadata: ["authorization": "Bearer \(key)"], remoteHost: "") else {
      Issue.record("a key must be a credential")
      return
    }
    for wrong in ["Bearer wrong", "Basic \(key)", "", "Bearer \(internalToken)"] {
      guard case .refused(let error) = judge.authenticate(metadata: ["authorization": wrong], remoteHost: "") else {
        Issue.record("\(wrong) must be refused")
        continue
      }
      #expect(error.code == .unauthenticated)
    }
    await harness.stop()
  }

  @Test func operatorActsForTheNamedCaller() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let echo = EchoServiceClient(try harness.client(token: internalToken))
    _ = try await echo.echo(EchoRequest("a"))
    #expect(backend.seen.last?.principal?.name == "service/operator")
    var options = CallOptions()
    options.metadata = ["campanile-principal": "user/ada", "campanile-scopes": "echo notifications:read"]
    _ = try await echo.echo(EchoRequest("a"), options: options)
    #expect(
      backend.seen.last?.principal == Principal(kind: .user, id: "ada", scopes: ["echo", "notifications:read"]))
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test("a malformed caller on a trusted link is refused, and never treated as the operator")
  func malformedCallersAreRefused() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let client = try harness.client(token: internalToken)
    let (echo, access) = (EchoServiceClient(client), AccessServiceClient(client))
    let cases: [(Metadata, String, String)] = [
      (["campanile-principal": "user/a+b@example.com"], "campanile-principal", "PRINCIPAL_INVALID"),
      (["campanile-principal": "alice"], "campanile-principal", "PRINCIPAL_INVALID"),
      (["campanile-principal": "user/"], "campanile-principal", "PRINCIPAL_INVALID"),
      (["campanile-principal": ""], "campanile-principal", "PRINCIPAL_INVALID"),
      (["campanile-principal": "user/a", "campanile-scopes": ""], "campanile-scopes", "SCOPES_INVALID"),
      (["campanile-principal": "user/a", "campanile-scopes": "echo bad\"scope"], "campanile-scopes", "SCOPES_INVALID"),
      (["campanile-principal": "user/a", "campanile-scopes": "echo:delete"], "campanile-scopes", "SCOPES_INVALID"),
      (["campanile-scopes": "echo"], "campanile-scopes", "SCOPES_INVALID"),
      (["campanile-remote-address": #"1","x":"y"#], "campanile-remote-address", "ADDRESS_INVALID"),
    ]
    for (metadata, key, reason) in cases {
      let options = CallOptions(timeoutMs: 5_000, metadata: metadata)
      let error = await expectFailure(.invalidArgument, reason) {
        try await echo.echo(EchoRequest("a"), options: options)
      }
      #expect(error?.fieldViolations.first?.field == key && error?.processed == false, "\(metadata)")
      _ = await expectFailure(.invalidArgument, reason) {
        try await access.listApiKeys(ListApiKeysRequest(), options: options)
      }
    }
    #expect(backend.seen.all.isEmpty)
    // Without metadata about a caller, the operator calls, also with other metadata.
    let plain = CallOptions(timeoutMs: 5_000, metadata: ["x": "y", "campanile-remote-address": "192.0.2.1"])
    _ = try await access.listApiKeys(ListApiKeysRequest(), options: plain)
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test("a caller that a trusted link names has the named scopes; operate and admin are never implied")
  func scopesOfNamedCallersApply() async throws {
    let operate = MethodDescriptor(
      path: EchoServiceMethods.echo.path, kind: .unary, idempotency: .noSideEffects,
      requestType: EchoRequest.protoFullName, responseType: EchoResponse.protoFullName, scope: "echo:operate")
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address]) { configuration in
      configuration.methods = EchoServiceMethods.all.map { $0.path == operate.path ? operate : $0 }
    }
    let client = try harness.client(token: internalToken)
    let (echo, access) = (EchoServiceClient(client), AccessServiceClient(client))
    func options(_ scopes: String?) -> CallOptions {
      var metadata: Metadata = ["campanile-principal": "service/ci"]
      if let scopes { metadata.add(scopes, for: "campanile-scopes") }
      return CallOptions(timeoutMs: 5_000, metadata: metadata)
    }
    for scopes in [nil, "echo:write", "echo:read notifications"] {
      _ = await expectFailure(.permissionDenied, "SCOPE_MISSING") {
        try await echo.echo(EchoRequest("a"), options: options(scopes))
      }
      _ = await expectFailure(.permissionDenied, "SCOPE_MISSING") {
        try await access.listApiKeys(ListApiKeysRequest(), options: options(scopes))
      }
    }
    for scopes in ["echo:operate", "echo", "admin"] {
      _ = try await echo.echo(EchoRequest("a"), options: options(scopes))
      #expect(backend.seen.last?.principal == Principal(kind: .service, id: "ci", scopes: [scopes]))
    }
    _ = try await access.listApiKeys(ListApiKeysRequest(), options: options("admin"))
    // The same applies to keys: a key without scopes does not imply operate.
    let key = try await harness.key("service/ci").secret
    let byKey = EchoServiceClient(try harness.client(token: key))
    _ = await expectFailure(.permissionDenied, "SCOPE_MISSING") { try await byKey.echo(EchoRequest("a")) }
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test("a client certificate reads and writes, without operate and admin")
  func certificatesDoNotOperate() throws {
    let authenticator = GatewayHelloAuthenticator(
      authenticator: CallerAuthenticator(keys: KeyRing(services: ["echo"])),
      internalToken: InternalTokenAuthenticator(token: nil), admission: Admission(CurrentLimits(GatewayLimits())))
    guard
      case .credential(let principal, let object) = authenticator.authenticate(
        certificateURIs: ["campanile:service/x"], expiresAtMs: .max)
    else {
      Issue.record("the certificate must be a credential")
      return
    }
    let rights = try #require(object as? Credential).rights
    #expect(principal.name == "service/x")
    for kind: Requirement.Kind in [.read, .write, .publish] { #expect(rights.allows(Requirement(kind: kind))) }
    for kind: Requirement.Kind in [.operate, .admin] { #expect(!rights.allows(Requirement(kind: kind))) }
  }
}

extension ExpandRequest {
  /// A stream that does not end by itself.
  static var endless: ExpandRequest {
    ExpandRequest(count: 1_000_000, intervalMs: 10)
  }
}
