import CampanileNotifications
import Foundation
import Testing

@testable import CampanileClient
@testable import CampanileLodge

/// The lodge's model with a real gateway and the sample data.
@MainActor @Suite(.enabled(if: Gateway.isThere && Gateway.pins != nil), .timeLimit(.minutes(2)), .serialized)
struct LodgeGatewayTests {
  private let folder: TestFolder
  private let session: LodgeSession
  private let outbox: Outbox
  private let campanile: Campanile

  init() throws {
    folder = try TestFolder()
    session = LodgeSession(FileCredentialStore(path: folder.path("session")))
    outbox = Outbox(path: folder.path("outbox"))
    campanile = try Gateway.campanile(session.credentials)
  }

  private func model(_ campanile: Campanile? = nil) -> LodgeModel {
    LodgeModel(
      campanile ?? self.campanile, session: session, folder: folder.url.appendingPathComponent("lodge"), outbox: outbox)
  }

  /// Adds a meeting in the future, as the secretary of the sample.
  @discardableResult
  private func newMeeting() async throws -> String {
    let response = try await Gateway.campanile().attendance.meetings.createMeeting(
      .init(
        meeting: .init(startTime: ProtoTimestamp(Date().addingTimeInterval(30 * 86_400)), discussion: "Next meeting")))
    return try #require(response.meeting?.id)
  }

  private func signedIn(_ name: String) async throws -> LodgeModel {
    let lodge = model()
    #expect(lodge.needsSignIn)
    try await lodge.signIn(name: name, pin: try #require(Gateway.pins?[name]))
    return lodge
  }

  @Test func statisticsAreThoseOfTheService() async throws {
    let lodge = try await signedIn("Giulia Bianchi")
    #expect(lodge.me?.name == "Giulia Bianchi" && !lodge.isStale && !lodge.needsSignIn)
    #expect(lodge.summaries.count >= 8 && !lodge.roster.meetings.isEmpty)
    let years = Set(lodge.roster.meetings.values.map(\.year)).union([0])
    for year in years {
      let expected = try await campanile.attendance.statistics.getMemberStatistics(
        .init(memberId: try #require(lodge.me?.id), year: year)
      ).statistics
      #expect(lodge.statistics(year: year) == expected)
    }
  }

  @Test func confirmationWaitsForTheNetworkAndSurvivesARelaunch() async throws {
    try await newMeeting()
    let online = try await signedIn("Marco Rossi")
    let meeting = try #require(online.upcoming.first)
    // No network: the stored roster is shown, and the confirmation waits.
    let away = Campanile(URL(string: "http://127.0.0.1:9")!, credentials: session.credentials)
    let offline = model(away)
    #expect(offline.me?.name == "Marco Rossi" && offline.isStale && !offline.needsSignIn)
    #expect(offline.upcoming.map(\.id) == online.upcoming.map(\.id))
    offline.confirm(meeting.id, present: true)
    offline.confirm(meeting.id, present: false)
    offline.confirm(meeting.id, present: true)
    #expect(offline.pending.count == 1 && offline.isPending(meeting.id) && offline.status(of: meeting.id) == .present)
    // Another launch, with a network.
    let later = model()
    #expect(later.isPending(meeting.id))
    let running = Task { await later.run() }
    defer { running.cancel() }
    let sender = Task { try await outbox.run(through: campanile.caller) }
    defer { sender.cancel() }
    try await eventually("the confirmation") { later.pending.isEmpty && later.status(of: meeting.id) == .present }
    try await eventually("the roster") {
      let memberID = later.me?.id ?? ""
      return later.roster.attendance[meeting.id]?[memberID]?.source == .selfValue
    }
    #expect(later.refused.isEmpty)
  }

  @Test func refusalComesBackWithItsReason() async throws {
    let meetingID = try await newMeeting()
    let lodge = try await signedIn("Giulia Bianchi")
    // The meeting is cancelled while the device has no network.
    _ = try await Gateway.campanile().attendance.meetings.cancelMeeting(.init(meetingId: meetingID))
    lodge.confirm(meetingID, present: true)
    try await outbox.sendNow(through: campanile.caller)
    let again = model()
    let refusal = try #require(again.refused.first)
    #expect(refusal.pending.meetingID == meetingID && refusal.error.reason == "MEETING_CANCELLED")
    #expect(again.pending.isEmpty)
    again.dismiss(refusal)
    #expect(again.refused.isEmpty)
  }

  @Test func wrongPINAndExpiredSessionAskForALogin() async throws {
    try await newMeeting()
    let lodge = model()
    let wrong = await rpcError { try await lodge.signIn(name: "Yuki Tanaka", pin: "000000") }
    #expect(wrong?.reason == "CREDENTIALS_INVALID" && lodge.needsSignIn)
    try await lodge.signIn(name: "Yuki Tanaka", pin: try #require(Gateway.pins?["Yuki Tanaka"]))
    let meeting = try #require(lodge.upcoming.first)
    // The session ends elsewhere. What the device has stored is still shown, and a confirmation is kept.
    _ = try await campanile.attendance.sessions.logout(.init())
    lodge.confirm(meeting.id, present: true)
    await lodge.run()
    #expect(lodge.needsSignIn && lodge.error?.code == .unauthenticated && !lodge.roster.meetings.isEmpty)
    try await outbox.sendNow(through: campanile.caller)
    #expect(lodge.isPending(meeting.id))
    try await lodge.signIn(name: "Yuki Tanaka", pin: try #require(Gateway.pins?["Yuki Tanaka"]))
    #expect(try await outbox.sendNow(through: campanile.caller) == 0)
    try await lodge.signOut()
    #expect(lodge.me == nil && lodge.needsSignIn && lodge.roster.meetings.isEmpty)
    #expect(model().me == nil)
  }
}
