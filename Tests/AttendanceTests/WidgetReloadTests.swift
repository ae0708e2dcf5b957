import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileStore
import ServiceTesting
import Synchronization
import TestSupport
import Testing

@testable import Attendance

/// A push service that stores the reloads that it receives. Like the real one, it ignores a repeated request.
private final class PhoneWidgets: WidgetReloading {
  private struct State {
    var reloads: [String] = []
    var requests: [String: String] = [:]
    var failures: [String: RPCError] = [:]
  }

  private let state = Mutex(State())

  /// The users in the order of their reloads, sorted within a page.
  var users: [String] { state.withLock { $0.reloads.sorted() } }
  func fail(_ user: String, with error: RPCError?) { state.withLock { $0.failures[user] = error } }

  func reloadWidgets(of user: String, requestID: String) async throws {
    try state.withLock { state in
      if let failure = state.failures[user] { throw failure }
      let owner = state.requests.updateValue(user, forKey: requestID)
      guard owner == nil || owner == user else {
        throw RPCError(.failedPrecondition, "the id is another user's", reason: "REQUEST_ID_REUSED")
      }
      if owner == nil { state.reloads.append(user) }
    }
  }
}

@Suite struct WidgetReloadTests {
  private let phones = PhoneWidgets()
  private let fixture: Fixture

  init() throws { fixture = try Fixture(widgets: phones) }

  private func reload(_ component: AttendanceComponent) async throws {
    let reloader = try #require(component.widgetReloader)
    while try await reloader.step() {}
  }

  @Test("changes of upcoming meetings within 20 seconds reload the widgets of active members once")
  func changesReloadOnce() async throws {
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", user: "anna")
      _ = try await component.makeMember("Bruno")
      let carla = try await component.makeMember("Carla", user: "carla")
      _ = try await component.members.deactivateMember(.init(memberId: carla.id), context: admin)
      try await reload(component)
      #expect(phones.users.isEmpty)
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs + Fixture.dayMs)
      fixture.clock.advance(by: .seconds(10))
      try await component.update(meeting, "location") { $0.location = "Turin" }
      fixture.clock.advance(by: .milliseconds(PlannedReload.delayMs - 10_001))
      try await reload(component)
      #expect(phones.users.isEmpty)
      fixture.clock.advance(by: .milliseconds(1))
      try await reload(component)
      #expect(phones.users == ["anna"])
      try await reload(component)
      #expect(phones.users == ["anna"])
      _ = try await component.meetings.deleteMeeting(.init(meetingId: meeting.id), context: admin)
      fixture.clock.advance(by: .milliseconds(PlannedReload.delayMs))
      try await reload(component)
      #expect(phones.users == ["anna", "anna"])
    }
  }

  @Test("meetings of the past, and the members themselves, reload no widget")
  func pastMeetingsReloadNothing() async throws {
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", user: "anna")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs - Fixture.dayMs)
      try await component.update(meeting, "location") { $0.location = "Turin" }
      fixture.clock.advance(by: .milliseconds(PlannedReload.delayMs))
      try await reload(component)
      #expect(phones.users.isEmpty)
    }
  }

  @Test("a reload survives a restart and an unreachable push service; a refusal stops nobody else")
  func reloadsAreNotLost() async throws {
    try await fixture.run { component in
      for name in ["anna", "bruno", "carla"] { _ = try await component.makeMember(name, user: name) }
      _ = try await component.makeMeeting(atMs: fixture.clock.nowMs + Fixture.dayMs)
      fixture.clock.advance(by: .milliseconds(PlannedReload.delayMs))
      phones.fail("carla", with: RPCError(.unavailable, "down", reason: "DOWN"))
      await #expect(throws: RPCError.self) { try await reload(component) }
    }
    phones.fail("carla", with: nil)
    phones.fail("anna", with: RPCError(.invalidArgument, "no user", reason: "ID_INVALID"))
    try await fixture.run { component in
      try await reload(component)
      #expect(Set(phones.users).isSuperset(of: ["bruno", "carla"]))
      // Each reload had its request id, so nobody received it twice.
      #expect(phones.users.count == Set(phones.users).count)
      let left = try component.store.readSingleBlocking { try $0.plannedReload() }
      #expect(left == nil)
    }
  }

  @Test("an unexpected error for one member is logged and stops nobody else, on any page")
  func errorOfOneMemberStopsNobodyElse() async throws {
    try await fixture.run { component in
      let count = WidgetReloader.pageRows + 1
      for number in 0..<count { _ = try await component.makeMember("M\(number)", user: "m\(number)") }
      _ = try await component.makeMeeting(atMs: fixture.clock.nowMs + Fixture.dayMs)
      phones.fail("m3", with: RPCError(.internalError, "failed", reason: "FAILED"))
      fixture.clock.advance(by: .milliseconds(PlannedReload.delayMs))
      let reloader = try #require(component.widgetReloader)
      let lines = Mutex<[String]>([])
      while try await reloader.step(log: { line in lines.withLock { $0.append(line) } }) {}
      #expect(phones.users == (0..<count).map { "m\($0)" }.filter { $0 != "m3" }.sorted())
      #expect(lines.withLock { $0.count } == 1)
      #expect(try component.store.readSingleBlocking { try $0.plannedReload() } == nil)
    }
  }

  @Test(
    "an outage keeps the page for a retry",
    arguments: [
      RPCError.Code.unavailable, .deadlineExceeded, .resourceExhausted, .cancelled,
    ])
  func outageKeepsThePage(_ code: RPCError.Code) async throws {
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", user: "anna")
      _ = try await component.makeMeeting(atMs: fixture.clock.nowMs + Fixture.dayMs)
      phones.fail("anna", with: RPCError(code, "down", reason: "DOWN"))
      fixture.clock.advance(by: .milliseconds(PlannedReload.delayMs))
      await #expect(throws: RPCError.self) { try await reload(component) }
      phones.fail("anna", with: nil)
      try await reload(component)
      #expect(phones.users == ["anna"])
    }
  }

  @Test("a change during a reload reloads all members again")
  func changeDuringReload() async throws {
    try await fixture.run { component in
      let count = WidgetReloader.pageRows + 1
      for number in 0..<count { _ = try await component.makeMember("M\(number)", user: "m\(number)") }
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs + Fixture.dayMs)
      fixture.clock.advance(by: .milliseconds(PlannedReload.delayMs))
      let reloader = try #require(component.widgetReloader)
      #expect(try await reloader.step())
      #expect(phones.users.count == WidgetReloader.pageRows)
      try await component.update(meeting, "location") { $0.location = "Turin" }
      fixture.clock.advance(by: .milliseconds(PlannedReload.delayMs))
      try await reload(component)
      #expect(phones.users.count == WidgetReloader.pageRows + count)
    }
  }

  @Test("a push service that does not respond for a day ends the reload, of all pages")
  func reloadsEndAfterADay() async throws {
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", user: "anna")
      for number in 0..<WidgetReloader.pageRows { _ = try await component.makeMember("M\(number)", user: "m\(number)") }
      _ = try await component.makeMeeting(atMs: fixture.clock.nowMs + 9 * Fixture.dayMs)
      phones.fail("anna", with: RPCError(.unavailable, "down", reason: "DOWN"))
      fixture.clock.advance(by: .milliseconds(PlannedReload.delayMs + WidgetReloader.ageMaxMs))
      await #expect(throws: RPCError.self) { try await reload(component) }
      fixture.clock.advance(by: .milliseconds(1))
      let reloader = try #require(component.widgetReloader)
      #expect(try await reloader.step())
      #expect(try component.store.readSingleBlocking { try $0.plannedReload() } == nil)
      // The last member would be on the second page.
      #expect(!phones.users.contains("m\(WidgetReloader.pageRows - 1)"))
    }
  }
}
