import ActivityKit
import BackgroundTasks
import CampanileActivities
import CampanileNotifications
import CampanileSync
import Foundation
import Network
import Security
import Testing
import WatchConnectivity

@testable import CampanileClient

/// The code for Apple's frameworks, with stand-ins that behave as their documentation describes.
@Suite(.serialized, .timeLimit(.minutes(1))) struct AppleTests {
  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("campanile-stubs-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  private func eventually(_ what: String, _ condition: () throws -> Bool) async throws {
    for _ in 0..<3_000 {
      if try condition() { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("not within 30 s: \(what)")
  }

  @Test func registrarFollowsRunningAndNewActivities() async throws {
    let outbox = Outbox(path: folder.appendingPathComponent("outbox").path)
    let state = RoomContentState(phase: .waiting, roomId: "ab", lastUpdated: Date())
    func request() throws -> LiveActivity<RoomActivityAttributes> {
      try LiveActivity.request(
        attributes: RoomActivityAttributes(roomId: "ab"), content: .init(state: state, staleDate: nil), pushType: .token
      )
    }
    // It was started, and got its token, before the app was launched again.
    let running = try request()
    running.systemSends(token: Data([1]))
    LiveActivity<RoomActivityAttributes>.systemSends(pushToStartToken: Data([9]))
    let registrar = LiveActivityRegistrar(.init(app: "com.example.rooms", environment: .sandbox), outbox: outbox)
    registrar.follow(RoomActivityAttributes.self)
    func tokens() throws -> Set<String> {
      Set(
        try outbox.entries().compactMap {
          let request: RegisterPushTokenRequest? = $0.request(of: PushTokensServiceMethods.registerPushToken)
          return request.map { "\($0.kind.rawValue) \($0.activityId) \($0.attributesType) \($0.token)" }
        })
    }
    try await eventually("the known tokens") {
      try tokens() == ["2 \(running.id)  01", "3  RoomActivityAttributes 09"]
    }
    ActivityAuthorizationInfo.systemSends(frequentPushesEnabled: true)
    try await eventually("the setting") { try outbox.entries().contains { $0.method.hasSuffix("UpdateInstallation") } }
    let new = try request()
    // The registrar listens at some time after the start of an activity.
    try await eventually("the new token") {
      new.systemSends(token: Data([2]))
      running.systemSends(token: Data([3]))
      return try tokens().isSuperset(of: ["2 \(new.id)  02", "2 \(running.id)  03"])
    }
    new.systemSends(state: .dismissed)
    try await eventually("the end") { try outbox.entries().contains { $0.method.hasSuffix("EndActivity") } }
    // Each token was registered once.
    #expect(try outbox.entries().filter { $0.method.hasSuffix("RegisterPushToken") }.count == 4)
  }

  @Test func activityRemovedBeforeTheLaunchIsEnded() async throws {
    let outbox = Outbox(path: folder.appendingPathComponent("outbox").path)
    let state = RoomContentState(phase: .waiting, roomId: "ab", lastUpdated: Date())
    let removed = try LiveActivity.request(
      attributes: RoomActivityAttributes(roomId: "ab"), content: .init(state: state, staleDate: nil), pushType: .token)
    removed.systemSends(state: .dismissed)
    let registrar = LiveActivityRegistrar(.init(app: "com.example.rooms", environment: .sandbox), outbox: outbox)
    registrar.follow(RoomActivityAttributes.self)
    try await eventually("the end") {
      try outbox.entries().contains {
        let request: EndActivityRequest? = $0.request(of: ActivitiesServiceMethods.endActivity)
        return request?.activityId == removed.id
      }
    }
  }

  @Test func keychainIsSharedAndALockedOneIsNotEmpty() throws {
    let store = KeychainCredentialStore(service: "api.example", accessGroup: "group.example", folder: folder)
    let other = KeychainCredentialStore(service: "api.example", accessGroup: "group.other", folder: folder)
    #expect(try store.read() == nil)
    let credential = Credential("secret", scheme: .attendanceSession, renewalSecret: "r", expiresAtMs: 5)
    try store.save(credential)
    #expect(try store.read() == credential && other.read() == nil)
    try store.update { current in
      var next = current
      next?.expiresAtMs = 6
      return next
    }
    #expect(try store.read()?.expiresAtMs == 6)
    Keychain.shared.isLocked = true
    defer { Keychain.shared.isLocked = false }
    #expect(throws: RPCError.self) { try store.read() }
    #expect(throws: RPCError.self) { try store.update { _ in nil } }
    Keychain.shared.isLocked = false
    #expect(try store.read()?.secret == "secret")
    try store.remove()
    try store.remove()
    #expect(try store.read() == nil)
  }

  @Test func networkEndsPauses() async throws {
    let signal = ReconnectSignal()
    let monitor = NetworkMonitor(signal)
    NWPathMonitor.systemReports(.satisfied, "en0")
    NWPathMonitor.systemReports(.satisfied, "en0")
    #expect(signal.count == 0)
    NWPathMonitor.systemReports(.unsatisfied)
    NWPathMonitor.systemReports(.satisfied, "pdp_ip0")
    #expect(signal.count == 1)
    withExtendedLifetime(monitor) {}
  }

  @Test func companionSendsByTheWayThatIsOpen() async throws {
    let device = SyncDeviceConfiguration(id: "phone", role: .writer)
    let received = Locked<[(CompanionMessage, String)]>([])
    let link = CompanionLink(device: device) { message, source in received.withLock { $0.append((message, source)) } }
    let message = CompanionMessage(.notificationRead, entityID: "n_1")
    link.send(message)
    #expect(WCSession.default.transfers.count == 1 && WCSession.default.messages.isEmpty)
    WCSession.default.isReachable = true
    link.send(message)
    #expect(WCSession.default.messages.count == 1)
    WCSession.default.delegate?.session(.default, didReceiveMessage: WCSession.default.messages[0])
    WCSession.default.delegate?.session(.default, didReceiveUserInfo: ["own": 1])
    #expect(received.withLock { $0.map(\.0) } == [message] && received.withLock { $0.map(\.1) } == ["phone"])
  }

  @Test func backgroundTaskIsCompletedAndPlannedAgain() async throws {
    let runs = Locked(0)
    BackgroundRefresh.register("com.example.refresh", every: 3_600) {
      if runs.withLock({ runs in
        runs += 1
        return runs
      }) == 2 {
        throw CancellationError()
      }
    }
    #expect(BGTaskScheduler.shared.submitted == ["com.example.refresh"])
    let first = BGTaskScheduler.shared.systemLaunches("com.example.refresh")
    try await eventually("the first run") { first.result == true }
    let second = BGTaskScheduler.shared.systemLaunches("com.example.refresh")
    try await eventually("the second run") { second.result == false }
    #expect(BGTaskScheduler.shared.submitted.count == 3)
  }
}
