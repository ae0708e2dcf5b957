import CampanileAPI
import CampanileCodec
import CampanileRPC
import Foundation
import Synchronization
import Testing

@testable import Gateway

@Suite struct AuthenticationTests {
  private func bearer(_ value: String) -> CallOptions {
    CallOptions(timeoutMs: 5_000, metadata: ["authorization": value])
  }

  @Test func withoutACredentialNothingIsForwarded() async throws {
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
    // A stranger does not learn which methods there are.
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

    var request = RevokeApiKeyRequest()
    request.keyId = try #require(key.apiKey?.id)
    let revoked = try await harness.admin().revokeApiKey(request)
    #expect(revoked.apiKey?.revokeTime != nil)
    _ = await expectFailure(.unauthenticated, "CREDENTIAL_REVOKED") { try await echo.echo(EchoRequest("b")) }
    _ = await expectFailure(.unauthenticated, "CREDENTIAL_REVOKED") {
      try await byMetadata.echo(EchoRequest("b"), options: bearer("Bearer \(key.secret)"))
    }
    _ = await expectFailure(.unauthenticated, "CREDENTIAL_REVOKED") { try await watch.value }
    // Again it changes nothing, not even the time.
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
    try await eventually("it expires") {
      do {
        _ = try await echo.echo(EchoRequest("a"))
        return false
      } catch let error as RPCError { return error.reason == "CREDENTIAL_EXPIRED" && error.code == .unauthenticated }
    }
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func scopesDecide() async throws {
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

  @Test func theOperatorSpeaksForWhomItNames() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let echo = EchoServiceClient(try harness.client(token: internalToken))
    _ = try await echo.echo(EchoRequest("a"))
    #expect(backend.seen.last?.principal?.name == "service/operator")
    var options = CallOptions()
    options.metadata = ["campanile-principal": "user/ada", "campanile-scopes": "echo bad\"scope"]
    _ = try await echo.echo(EchoRequest("a"), options: options)
    #expect(backend.seen.last?.principal == Principal(kind: .user, id: "ada", scopes: ["echo"]))
    await harness.stop()
    await backend.server.shutdown()
  }
}

extension ExpandRequest {
  /// A stream that does not end by itself.
  static var endless: ExpandRequest {
    var request = ExpandRequest()
    request.count = 1_000_000
    request.intervalMs = 10
    return request
  }
}
