import APNs
import Synchronization
import Testing

@testable import APNsSimulator

/// The behaviour of devices and of APNs' store. Each display name has the page of Apple that describes it.
@Suite struct DeviceTests {
  private static func start(_ members: String) -> String {
    """
    {"aps":{"event":"start","timestamp":1,"content-state":{"n":0},"attributes-type":"A","attributes":{},\
    "alert":{"title":"t"}\(members)}}
    """
  }

  private func register(
    _ token: String, _ kind: DeviceRecord.Kind, device: String? = nil, _ bench: Bench
  ) {
    bench.simulator.state.withLock {
      $0.devices[token] = DeviceRecord(bundleID: bundleID, kind: kind, device: device, registeredAtMs: 0)
    }
  }

  // MARK: starts

  @Test(
    "a start asks for a token or a channel (Starting and updating Live Activities with ActivityKit push notifications)",
    arguments: [
      (#","input-push-token":1"#, Screen.UpdateSource.token), (#","input-push-channel":"AAAA""#, .channel),
      ("", .nothing), (#","input-push-token":0"#, .nothing),
    ])
  func startsSelectTheSourceOfUpdates(members: String, source: Screen.UpdateSource) throws {
    let bench = try Bench()
    bench.simulator.state.withLock {
      $0.channels["AAAA"] = ChannelRecord(bundleID: bundleID, storesMessages: false, createdAtMs: 0)
    }
    #expect(try bench.push(Self.start(members)).text == "200")
    #expect(bench.screen()?.starts == 1)
    #expect(bench.screen()?.updateSource == source)
  }

  @Test("a start with an unknown channel, or another app's, displays nothing", arguments: ["AAAA", "BBBB"])
  func startsNeedAnExistingChannel(channel: String) throws {
    let bench = try Bench()
    bench.simulator.state.withLock {
      $0.channels["BBBB"] = ChannelRecord(bundleID: "com.other", storesMessages: false, createdAtMs: 0)
    }
    #expect(try bench.push(Self.start(#","input-push-channel":"\#(channel)""#)).text == "200")
    #expect(bench.screen()?.starts == 0)
    #expect(bench.screen()?.discards == [.noChannel: 1])
  }

  // MARK: budgets

  @Test("updates with priority 10 have a budget (Starting and updating Live Activities …: update frequency)")
  func urgentUpdatesBeyondTheBudgetAreWithheld() throws {
    var limits = SimulatorLimits()
    limits.updatesPerHourMax = 2
    let bench = try Bench(limits)
    for number in 1...3 as ClosedRange<Int64> {
      #expect(try bench.push(bench.update(#"{"n":\#(number)}"#, at: number), priority: "10").text == "200")
    }
    #expect(bench.screen()?.contentState == #"{"n":2}"#)
    #expect(bench.screen()?.discards == [.withheld: 1])
    // Priority 5 does not count towards the budget.
    _ = try bench.push(bench.update(#"{"n":4}"#, at: 4), priority: "5")
    #expect(bench.screen()?.contentState == #"{"n":4}"#)
    bench.advance(seconds: 3_600)
    _ = try bench.push(bench.update(#"{"n":5}"#, at: 5), priority: "10")
    #expect(bench.screen()?.contentState == #"{"n":5}"#)
    _ = try bench.push(bench.update(#"{"n":6}"#, at: 6), priority: "10")
    _ = try bench.push(#"{"aps":{"event":"end","timestamp":7}}"#, priority: "10")
    #expect(bench.screen()?.isEnded == true)
  }

  @Test("background pushes are throttled (Pushing background updates to your App)")
  func backgroundPushesBeyondTheBudgetAreWithheld() throws {
    var limits = SimulatorLimits()
    limits.backgroundsPerHourMax = 3
    let bench = try Bench(limits)
    for _ in 1...5 {
      _ = try bench.push(#"{"aps":{"content-available":1}}"#, pushType: "background", topic: bundleID, priority: "5")
    }
    #expect(bench.screen()?.backgrounds == 3)
    #expect(bench.screen()?.discards == [.withheld: 2])
  }

  // MARK: widgets and controls

  @Test(
    "widgets and controls reload (Updating widgets with WidgetKit push notifications, Updating controls …)",
    arguments: [("widgets", DeviceRecord.Kind.widgets), ("controls", .control)])
  func reloadsNeedContentChanged(pushType: String, kind: DeviceRecord.Kind) throws {
    let bench = try Bench()
    let topic = "\(bundleID).push-type.\(pushType)"
    #expect(
      try bench.push(#"{"aps":{"content-changed":true}}"#, pushType: pushType, topic: topic).text == "200")
    #expect(try bench.push(#"{"aps":{}}"#, pushType: pushType, topic: topic).text == "200")
    #expect(bench.screen()?.kind == kind)
    #expect(bench.screen()?.reloads == 1)
    #expect(bench.screen()?.discards == [.noContentChanged: 1])
    // Its token is for nothing else.
    let other = try bench.push(#"{"aps":{"alert":"x"}}"#, pushType: "alert", topic: bundleID)
    #expect(other.text == "400 DeviceTokenNotForTopic")
  }

  // MARK: APNs' store

  @Test("a push that is not to be stored displaces nothing (Sending notification requests to APNs)")
  func unstoredUpdateDisplacesNoAlert() throws {
    let bench = try Bench()
    register("aa", .device, device: "phone", bench)
    register("bb", .activity, device: "phone", bench)
    #expect(bench.simulator.state.withLock { $0.disconnect("phone") })
    let later = String(bench.nowSeconds + 60)
    func send(_ token: String, _ payload: String, expiration: String?) throws {
      let pushType = token == "aa" ? "alert" : "liveactivity"
      let topic = token == "aa" ? bundleID : liveTopic
      #expect(
        try bench.push(payload, to: token, pushType: pushType, topic: topic, expiration: expiration).text == "200")
    }
    try send("aa", #"{"aps":{"alert":"hello"}}"#, expiration: later)
    try send("bb", bench.update(#"{"n":1}"#, at: 1), expiration: "0")
    #expect(bench.simulator.state.withLock { $0.connect("phone", nowMs: nowMs) } == 1)
    #expect(bench.screen("aa")?.alert == #""hello""#)
    #expect(bench.screen("bb") == nil)
    #expect(bench.simulator.state.withLock { $0.statistics.discards } == [.offline: 1])
    #expect(bench.simulator.state.withLock { $0.statistics.displaced } == 0)
  }

  @Test(
    "a stored push is delivered when the device connects, until it expires",
    arguments: [("0", 0), ("60", 1), (nil, 1)] as [(String?, Int)])
  func storedPushIsDelivered(expiration: String?, delivered: Int) throws {
    let bench = try Bench()
    register("aa", .device, device: "phone", bench)
    _ = bench.simulator.state.withLock { $0.disconnect("phone") }
    let expirationSeconds = expiration.map { $0 == "0" ? "0" : String(bench.nowSeconds + 60) }
    _ = try bench.push(
      #"{"aps":{"alert":"hello"}}"#, to: "aa", pushType: "alert", topic: bundleID, expiration: expirationSeconds)
    #expect(bench.screen("aa") == nil)
    #expect(bench.simulator.state.withLock { $0.connect("phone", nowMs: nowMs + 30_000) } == delivered)
    #expect((bench.screen("aa")?.alerts ?? 0) == delivered)
  }

  @Test("APNs stores one notification per bundle id (Sending notification requests to APNs)")
  func storedPushesOfOneBundleIDDisplaceEachOther() throws {
    let bench = try Bench()
    register("aa", .device, device: "phone", bench)
    register("bb", .activity, device: "phone", bench)
    _ = bench.simulator.state.withLock { $0.disconnect("phone") }
    let later = String(bench.nowSeconds + 60)
    _ = try bench.push(
      #"{"aps":{"alert":"hello"}}"#, to: "aa", pushType: "alert", topic: bundleID, expiration: later)
    _ = try bench.push(bench.update(#"{"n":1}"#, at: 1), to: "bb", expiration: later)
    #expect(bench.simulator.state.withLock { $0.statistics.displaced } == 1)
    #expect(bench.simulator.state.withLock { $0.connect("phone", nowMs: nowMs) } == 1)
    #expect(bench.screen("aa") == nil && bench.screen("bb")?.updates == 1)
  }
}
