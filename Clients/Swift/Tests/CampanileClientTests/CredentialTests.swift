import Foundation
import Testing

@testable import CampanileClient
import CampanileLodge
import CampanileNotifications

/// Credentials in a file, and their renewal.
struct CredentialTests {
  private let folder: TestFolder
  private let store: FileCredentialStore
  private let path: String

  init() throws {
    folder = try TestFolder()
    path = folder.path("credential")
    store = FileCredentialStore(path: path)
  }

  private func credentials(
    _ clock: TestClock = TestClock(), _ renewal: StoredCredentials.Renewal? = nil
  ) -> StoredCredentials {
    StoredCredentials(store, environment: clock.environment(), renewal: renewal)
  }

  @Test func fileIsPrivateAndHasEverything() throws {
    #expect(try store.read() == nil)
    let saved = Credential("s\"à", scheme: .attendanceSession, renewalSecret: "r", expiresAtMs: 1_234_567_890_123)
    try store.save(saved)
    #expect(try store.read() == saved)
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    try store.remove()
    try store.remove()
    #expect(try store.read() == nil)
  }

  @Test(arguments: ["", "{}", "[", #"{"secret":""}"#, #"{"secret":7}"#])
  func damagedFileIsAnErrorAndIsKept(text: String) async throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    chmod(path, 0o600)
    let error = await rpcError { try await credentials().credential() }
    #expect(error?.code == .unavailable && error?.reason == "CREDENTIAL_UNAVAILABLE")
    #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
  }

  @Test func fileThatOthersCanReadIsRefused() async throws {
    try store.save(Credential("s"))
    chmod(path, 0o644)
    #expect(await rpcError { try store.read() }?.reason == "CREDENTIAL_UNAVAILABLE")
  }

  @Test func expiringCredentialIsRenewed() async throws {
    let clock = TestClock()
    try store.save(Credential("old", expiresAtMs: clock.nowMs + 60_000))
    let credentials = credentials(clock) { _ in Credential("new", expiresAtMs: 9_999_999) }
    #expect(try await credentials.credential()?.secret == "new")
    #expect(try store.read()?.secret == "new")
  }

  @Test func failedRenewalKeepsTheCredential() async throws {
    let clock = TestClock()
    let old = Credential("old", renewalSecret: "r", expiresAtMs: clock.nowMs + 30_000)
    try store.save(old)
    let credentials = credentials(clock) { _ in throw RPCError(.unavailable, "offline") }
    #expect(try await credentials.credential() == old)
    clock.advance(ms: 30_000)
    #expect(await rpcError { try await credentials.credential() }?.message == "offline")
    #expect(await rpcError { try await credentials.replacement(for: old) }?.message == "offline")
    #expect(try store.read() == old)
  }

  @Test func renewalOfAnotherProcessIsUsed() async throws {
    try store.save(Credential("new"))
    let credentials = credentials { _ in throw RPCError(.internalError, "not needed") }
    #expect(try await credentials.replacement(for: Credential("old"))?.secret == "new")
  }

  @Test func logoutDuringARenewalPrevails() async throws {
    let store = store
    let old = Credential("old")
    try store.save(old)
    let credentials = credentials { _ in
      try store.remove()
      return Credential("new")
    }
    #expect(try await credentials.replacement(for: old) == nil)
    #expect(try store.read() == nil)
  }

  @Test func cancelledCallDoesNotLoseARenewal() async throws {
    let old = Credential("old")
    try store.save(old)
    let waiting = Locked<CheckedContinuation<Void, Never>?>(nil)
    let credentials = credentials { _ in
      await withCheckedContinuation { continuation in waiting.withLock { $0 = continuation } }
      try Task.checkCancellation()
      return Credential("new")
    }
    let task = Task { try await credentials.replacement(for: old) }
    try await eventually("a renewal") { waiting.withLock { $0 != nil } }
    task.cancel()
    waiting.withLock { $0 }?.resume()
    #expect(try await task.value?.secret == "new")
    #expect(try store.read()?.secret == "new")
  }

  @Test func renewalThatHangsIsNotWaitedForForever() async throws {
    let permit = try store.renewalPermit()
    try store.save(Credential("old"))
    let credentials = credentials { _ in Credential("new") }
    let error = await rpcError { try await credentials.replacement(for: Credential("old")) }
    #expect(error?.reason == "CREDENTIAL_UNAVAILABLE")
    withExtendedLifetime(permit) {}
  }

  @Test func refusedCredentialIsReplacedOnce() async throws {
    try store.save(Credential("old"))
    let refusal = FakeTransport.response(401, #"{"code":"unauthenticated"}"#)
    let credentials = credentials { _ in Credential("new") }
    let accepted = FakeTransport(refusal, FakeTransport.response(200, "{}"))
    let caller = HTTPCaller.fake(accepted, credentials: credentials)
    _ = try await NotificationsServiceClient(caller).listBuckets(.init())
    #expect(accepted.requests.map { $0.headers["authorization"] } == ["Bearer old", "Bearer new"])

    try store.save(Credential("old"))
    let streams = FakeTransport(refusal, FakeTransport.stream([(2, "{}")]))
    let streaming = NotificationsServiceClient(HTTPCaller.fake(streams, credentials: credentials))
    for try await _ in streaming.watchNotifications(.init()) {}
    #expect(streams.requests.map { $0.headers["authorization"] } == ["Bearer old", "Bearer new"])

    let refused = FakeTransport(refusal)
    try store.save(Credential("old"))
    let error = await rpcError {
      try await NotificationsServiceClient(HTTPCaller.fake(refused, credentials: credentials)).listBuckets(.init())
    }
    #expect(error?.code == .unauthenticated && refused.requests.count == 2)
    #expect(try store.read()?.secret == "new")
  }

  @Test func sessionOfAMemberHasItsOwnHeader() async throws {
    let transport = FakeTransport(FakeTransport.response(200, "{}"))
    let session = FixedCredential(Credential("cas_1", scheme: .attendanceSession))
    _ = try await MeetingsServiceClient(HTTPCaller.fake(transport, credentials: session)).listMeetings(.init())
    #expect(transport.requests[0].headers["attendance-session"] == "cas_1")
    #expect(transport.requests[0].headers["authorization"] == nil)
  }

  @Test func descriptionHasNoSecret() {
    let credential = Credential("cmp_secret", renewalSecret: "cmp_secret")
    var dumped = ""
    dump(credential, to: &dumped)
    #expect(!"\(credential) \(String(reflecting: credential)) \(dumped)".contains("cmp_secret"))
  }

  #if os(Linux) || os(macOS)
    @Test func processesDoNotRenewTwice() async throws {
      let issuer = folder.path("issuer")
      try "0".write(toFile: issuer, atomically: true, encoding: .utf8)
      try store.save(Credential("secret-0", renewalSecret: "0"))
      let started = try (0..<3).map { _ in try clientProcess("renew", path, issuer, "40") }
      var secrets: [String] = []
      for (process, output) in started {
        secrets += lines(output.readDataToEndOfFile())
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
      }
      let number = try #require(Int(String(contentsOfFile: issuer, encoding: .utf8)))
      #expect(secrets.count == 120)
      #expect(number >= 40 && number <= 120)
      #expect(try store.read()?.secret == "secret-\(number)")
    }
  #endif
}
