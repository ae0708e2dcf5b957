import Foundation
import Testing

@testable import CampanileActivities
@testable import CampanileClient

/// The registration of tokens, without ActivityKit.
struct RegistrarTests {
  private let folder: TestFolder
  private let outbox: Outbox
  private let clock = TestClock()

  init() throws {
    folder = try TestFolder()
    outbox = Outbox(path: folder.path("outbox"))
  }

  private func registrar() -> LiveActivityRegistrar {
    LiveActivityRegistrar(
      .init(
        app: "com.example.growth", environment: .sandbox, installationID: "phone",
        osVersion: OsVersion(major: 18, minor: 1)),
      outbox: outbox, environment: clock.environment())
  }

  private func registrations() throws -> [RegisterPushTokenRequest] {
    try outbox.entries().compactMap { $0.request(of: PushTokensServiceMethods.registerPushToken) }
  }

  private let token = Data([0x0A, 0xFF])
  private let newer = Data([0x0B])

  @Test func tokenIsRegisteredOnceWithItsTimeAndPlace() throws {
    let registrar = registrar()
    for _ in 0..<3 { registrar.updateToken(token, activityID: "a_1") }
    let request = try #require(try registrations().first)
    #expect(try registrations().count == 1)
    #expect(request.kind == .activityUpdate && request.token == "0aff" && request.activityId == "a_1")
    #expect(request.app == "com.example.growth" && request.environment == "sandbox")
    #expect(request.installationId == "phone" && request.osVersion?.major == 18)
    #expect(request.tokenTime?.millisecondsSince1970 == clock.nowMs)
  }

  @Test func eachPlaceHasItsToken() throws {
    let registrar = registrar()
    registrar.deviceToken(token)
    registrar.pushToStartToken(token, attributesType: "TimerActivityAttributes")
    registrar.pushToStartToken(token, attributesType: "RoomActivityAttributes")
    registrar.updateToken(token, activityID: "a_1")
    registrar.updateToken(token, activityID: "a_2")
    registrar.updateToken(newer, activityID: "a_2")
    #expect(try registrations().map(\.kind.rawValue) == [1, 3, 3, 2, 2, 2])
    #expect(try registrations().last?.token == "0b")
    #expect(try registrations().map(\.attributesType).filter { !$0.isEmpty }.count == 2)
    registrar.deviceToken(Data())
    #expect(try registrations().count == 6)
  }

  @Test func waitingTokenIsNotRepeatedAfterARelaunch() throws {
    registrar().deviceToken(token)
    let relaunched = registrar()
    relaunched.deviceToken(token)
    #expect(try registrations().count == 1)
    relaunched.deviceToken(newer)
    #expect(try registrations().count == 2)
  }

  @Test func tokenFollowsTheStartOfItsActivity() throws {
    let registrar = registrar()
    let start = Date(timeIntervalSince1970: 1_700_000_000)
    try registrar.startedTimer(
      "a_1", state: .init(startedAt: start, duration: 600, methodName: "Focus", sessionType: .countdown),
      type: .countdown, completesByItself: true)
    registrar.updateToken(token, activityID: "a_1")
    try registrar.started("a_2", state: RoomContentState(phase: .waiting, roomId: "ab", lastUpdated: start))
    let entries = try outbox.entries()
    #expect(entries.map(\.object) == ["a_1", "a_1", "a_2"])
    let timer: StartTimerRequest? = entries[0].request(of: TimersServiceMethods.startTimer)
    #expect(timer?.duration?.milliseconds == 600_000 && timer?.startTime?.date == start && timer?.origin == .local)
    #expect(entries.allSatisfy { !$0.requestID.isEmpty || $0.method.contains("RegisterPushToken") })
    let room: StartActivityRequest? = entries[2].request(of: ActivitiesServiceMethods.startActivity)
    #expect(room?.contentStateJson.contains(#""lastUpdated":721692800"#) == true)
  }

  @Test func removedActivityIsEndedOnce() throws {
    let registrar = registrar()
    registrar.updateToken(token, activityID: "a_1")
    registrar.activityDisappeared("a_1")
    registrar.activityDisappeared("a_1")
    registrar.updateToken(newer, activityID: "a_1")
    let methods = try outbox.entries().map { $0.method.split(separator: "/").last ?? "" }
    #expect(methods == ["RegisterPushToken", "EndActivity"])
  }

  @Test func choiceOfFrequentPushesIsReportedWhenItChanges() throws {
    let registrar = registrar()
    registrar.frequentPushes(isEnabled: true)
    registrar.frequentPushes(isEnabled: true)
    registrar.deviceToken(token)
    registrar.frequentPushes(isEnabled: false)
    let reports: [UpdateInstallationRequest] = try outbox.entries().compactMap {
      $0.request(of: PushTokensServiceMethods.updateInstallation)
    }
    #expect(reports.map(\.frequentPushesEnabled) == [true, false])
    #expect(try registrations().first?.frequentPushesEnabled == true)
  }

  @Test func tokenThatCannotBeStoredIsTriedAgain() throws {
    let failures = Locked<[String]>([])
    let missing = Outbox(path: folder.path("none/outbox"))
    let registrar = LiveActivityRegistrar(
      .init(app: "com.example.growth", environment: .sandbox), outbox: missing,
      failed: { error in failures.withLock { $0.append(error.reason) } })
    registrar.deviceToken(token)
    registrar.deviceToken(token)
    #expect(failures.withLock { $0 } == ["FILE_UNAVAILABLE", "FILE_UNAVAILABLE"])
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("none"), withIntermediateDirectories: true)
    registrar.deviceToken(token)
    #expect(try missing.entries().count == 1)
  }
}
