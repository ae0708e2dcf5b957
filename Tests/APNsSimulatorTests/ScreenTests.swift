import APNs
import Synchronization
import Testing

@testable import APNsSimulator

/// The displays of devices, as transcripts of pushes ("Starting and updating Live Activities with ActivityKit push
/// notifications").
@Suite struct ScreenTests {
  @Test func newestStateIsDisplayed() throws {
    let bench = try Bench()
    for (state, timestamp) in [(#"{"n":1}"#, 10), (#"{"n":2}"#, 11)] as [(String, Int64)] {
      _ = try bench.push(bench.update(state, at: timestamp))
    }
    let screen = try #require(bench.screen())
    #expect(screen.contentState == #"{"n":2}"#)
    #expect(screen.timestampSeconds == 11)
    #expect(screen.updates == 2)
    #expect(!screen.isEnded)
  }

  @Test func olderStateIsIgnoredAndCounted() throws {
    let bench = try Bench()
    _ = try bench.push(bench.update(#"{"n":1}"#, at: 10))
    #expect(try bench.push(bench.update(#"{"n":0}"#, at: 9)).text == "200")
    #expect(bench.screen()?.contentState == #"{"n":1}"#)
    #expect(bench.screen()?.discards == [.oldTimestamp: 1])
  }

  @Test func pushesAfterTheEndAreIgnored() throws {
    let bench = try Bench()
    _ = try bench.push(bench.update(#"{"n":1}"#, at: 10))
    _ = try bench.push(#"{"aps":{"event":"end","timestamp":11,"dismissal-date":12}}"#)
    #expect(try bench.push(bench.update(#"{"n":2}"#, at: 12)).text == "200")
    let screen = try #require(bench.screen())
    #expect(screen.isEnded)
    #expect(screen.contentState == #"{"n":1}"#)
    #expect(screen.dismissalDateSeconds == 12)
    #expect(screen.discards == [.afterEnd: 1])
  }

  @Test func repeatedPushIsDisplayedOnce() throws {
    let bench = try Bench()
    let id = "6f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0"
    for _ in 0..<3 { _ = try bench.push(bench.update("{}", at: 10), id: id) }
    #expect(bench.screen()?.updates == 1)
    #expect(bench.simulator.state.withLock { $0.statistics.requests } == 3)
  }

  @Test func differentStateOfTheSameSecondIsCounted() throws {
    let bench = try Bench()
    for state in [#"{"n":1}"#, #"{"n":1}"#, #"{"n":2}"#] { _ = try bench.push(bench.update(state, at: 10)) }
    #expect(bench.screen()?.sameTimestamps == 1)
    #expect(bench.screen()?.contentState == #"{"n":2}"#)
  }

  @Test(arguments: [
    ("no JSON", Discard.notJSON), ("[]", .notJSON), (#"{"x":1}"#, .noAPS), (#"{"aps":5}"#, .notJSON),
    (#"{"aps":{}}"#, .badEvent), (#"{"aps":{"event":"pause","timestamp":1,"content-state":{}}}"#, .badEvent),
    (#"{"aps":{"event":"update","content-state":{}}}"#, .noTimestamp),
    (#"{"aps":{"event":"update","timestamp":1.5,"content-state":{}}}"#, .notJSON),
    (#"{"aps":{"event":"update","timestamp":1}}"#, .noContentState),
    (#"{"aps":{"event":"update","timestamp":1,"content-state":[]}}"#, .noContentState),
    (#"{"aps":{"event":"start","timestamp":1,"content-state":{}}}"#, .noAttributesType),
    (#"{"aps":{"event":"start","timestamp":1,"content-state":{},"attributes-type":"A"}}"#, .noAttributes),
    (
      #"{"aps":{"event":"start","timestamp":1,"content-state":{},"attributes-type":"A","attributes":{}}}"#, .noAlert
    ),
  ])
  func eventRulesDiscardInvalidPayloads(payload: String, discard: Discard) throws {
    let bench = try Bench()
    #expect(try bench.push(payload).text == "200")
    #expect(bench.screen()?.discards == [discard: 1])
  }

  @Test func startsAndUpdatesNeedMatchingTokens() throws {
    let bench = try Bench()
    let start = """
      {"aps":{"event":"start","timestamp":1,"content-state":{"n":0},"attributes-type":"A","attributes":{"id":1},\
      "alert":{"title":"t"}}}
      """
    for (token, kind) in [("aa", DeviceRecord.Kind.start), ("bb", .activity)] {
      bench.simulator.state.withLock {
        $0.devices[token] = DeviceRecord(bundleID: bundleID, kind: kind, registeredAtMs: 0)
      }
    }
    _ = try bench.push(start, to: "aa")
    _ = try bench.push(start, to: "bb")
    _ = try bench.push(bench.update("{}", at: 2), to: "aa")
    let screen = try #require(bench.screen("aa"))
    #expect(screen.starts == 1)
    #expect(screen.attributes == #"{"id":1}"#)
    #expect(screen.attributesType == "A")
    #expect(screen.alert == #"{"title":"t"}"#)
    #expect(screen.contentState == #"{"n":0}"#)
    #expect(screen.discards == [.wrongEvent: 1])
    #expect(bench.screen("bb")?.discards == [.wrongEvent: 1])
  }

  @Test func alertsAndBackgroundPushesAreCounted() throws {
    let bench = try Bench()
    _ = try bench.push(#"{"aps":{"alert":"hello"}}"#, pushType: "alert", topic: bundleID)
    _ = try bench.push(#"{"aps":{"content-available":1}}"#, pushType: "background", topic: bundleID, priority: "5")
    let screen = try #require(bench.screen())
    #expect(screen.alerts == 1)
    #expect(screen.alert == #""hello""#)
    #expect(screen.backgrounds == 1)
    #expect(screen.highPriority == 1)
  }

  @Test func contentStateIsStoredVerbatim() throws {
    let bench = try Bench()
    let state = #"{ "b" : 1.50, "a":"\u00e8", "z":[1e3] }"#
    _ = try bench.push(bench.update(state, at: 1))
    #expect(bench.screen()?.contentState == state)
  }
}
