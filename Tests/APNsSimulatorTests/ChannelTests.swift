import APNs
import Synchronization
import Testing

@testable import APNsSimulator

/// Broadcast channels ("Sending channel management requests to APNs", "Sending broadcast push notification requests to
/// APNs").
@Suite struct ChannelTests {
  private func manage(
    _ bench: Bench, _ method: String, _ path: String = "/1/apps/\(bundleID)/channels", channel: String? = nil,
    body: String = "", pushType: String? = nil, expiration: String? = nil,
    priority: String? = "10", requestID: String? = nil
  ) throws -> Outcome {
    var fields = PushFields()
    fields.authorization = try bench.authorization(issuedAtSeconds: nowMs / 1000)
    fields.channelID = channel
    fields.pushType = pushType
    fields.expiration = expiration
    fields.priority = priority
    fields.requestID = requestID
    // Ignored: only pushes to devices have it.
    fields.id = "00000000-0000-4000-8000-000000000000"
    return bench.simulator.handle(
      ReceivedPush(method: method, path: path, fields: fields, body: Array(body.utf8), bodyBytes: body.utf8.count),
      connection: &bench.connection)
  }

  private let policy = #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#

  @Test func channelsAreCreatedReadListedBroadcastToAndDeleted() throws {
    let bench = try Bench()
    let made = try #require(try manage(bench, "POST", body: policy).answer)
    #expect(made.status == 201)
    let id = try #require(made.channelID)
    #expect(try manage(bench, "GET", channel: id).answer?.body == policy)
    #expect(try manage(bench, "GET", "/1/apps/\(bundleID)/all-channels").answer?.body == #"{"channels":["\#(id)"]}"#)
    let broadcasts = "/4/broadcasts/apps/\(bundleID)"
    for timestamp in [5, 4] as [Int64] {
      let sent = try manage(
        bench, "POST", broadcasts, channel: id, body: bench.update(#"{"goals":1}"#, at: timestamp),
        pushType: "liveactivity", expiration: "0")
      #expect(sent.text == "200")
    }
    #expect(bench.screen("channel/\(id)")?.contentState == #"{"goals":1}"#)
    #expect(bench.screen("channel/\(id)")?.discards == [.oldTimestamp: 1])
    #expect(try manage(bench, "DELETE", channel: id).text == "204")
    #expect(try manage(bench, "DELETE", channel: id).text == "400 ChannelNotRegistered")
    #expect(bench.screen("channel/\(id)") == nil)
    #expect(try manage(bench, "GET", "/1/apps/\(bundleID)/all-channels").answer?.body == #"{"channels":[]}"#)
  }

  @Test func broadcastsAreIdentifiedByTheirRequestID() throws {
    let bench = try Bench()
    let id = try #require(try manage(bench, "POST", body: policy).answer?.channelID)
    func send(_ requestID: String?) throws -> Outcome {
      try manage(
        bench, "POST", "/4/broadcasts/apps/\(bundleID)", channel: id, body: bench.update("{}", at: 1),
        pushType: "liveactivity", expiration: "0", requestID: requestID)
    }
    #expect(try send("1").text == "400 BadMessageId")
    let given = "6F1E2D3C-4B5A-4978-8796-A5B4C3D2E1F0"
    #expect(try send(given).answer?.id == given.lowercased())
    let own = try #require(try send(nil).answer?.id)
    #expect(PushRules.isCanonicalUUID(own) && own != "00000000-0000-4000-8000-000000000000")
  }

  @Test func broadcastsCannotStartActivities() throws {
    let bench = try Bench()
    let id = try #require(try manage(bench, "POST", body: policy).answer?.channelID)
    let start = #"{"aps":{"event":"start","timestamp":1,"content-state":{},"attributes-type":"A","attributes":{}}}"#
    _ = try manage(
      bench, "POST", "/4/broadcasts/apps/\(bundleID)", channel: id, body: start, pushType: "liveactivity",
      expiration: "0")
    #expect(bench.screen("channel/\(id)")?.discards == [.wrongEvent: 1])
  }

  @Test("a broadcast without apns-priority is refused (Sending broadcast push notification requests to APNs)")
  func broadcastsNeedAPriority() throws {
    let bench = try Bench()
    let id = try #require(try manage(bench, "POST", body: policy).answer?.channelID)
    func send(_ priority: String?) throws -> String {
      try manage(
        bench, "POST", "/4/broadcasts/apps/\(bundleID)", channel: id, body: bench.update("{}", at: 1),
        pushType: "liveactivity", expiration: "0", priority: priority
      ).text
    }
    #expect(try send(nil) == "400 BadPriority")
    #expect(try send("5") == "200")
  }

  @Test(arguments: [
    ("", "400 PayloadEmpty"), ("x", "400 BadRequest"), ("{}", "400 InvalidPushType"),
    (#"{"push-type":"alert","message-storage-policy":0}"#, "400 InvalidPushType"),
    (#"{"push-type":"LiveActivity"}"#, "400 BadRequest"),
    (#"{"push-type":"LiveActivity","message-storage-policy":2}"#, "400 BadRequest"),
  ])
  func invalidBodiesAreRejected(body: String, expected: String) throws {
    #expect(try manage(try Bench(), "POST", body: body).text == expected)
  }

  @Test func channelsOfOtherAppsAreUnknown() throws {
    let bench = try Bench()
    bench.simulator.state.withLock {
      $0.channels["AAAA"] = ChannelRecord(bundleID: "com.other", storesMessages: false, createdAtMs: 0)
    }
    #expect(try manage(bench, "GET", channel: "AAAA").text == "400 ChannelNotRegistered")
    #expect(try manage(bench, "GET").text == "400 MissingChannelId")
    #expect(try manage(bench, "POST", "/1/apps/com.other/channels", body: policy).text == "400 TopicDisallowed")
  }

  @Test func channelsAreBounded() throws {
    let bench = try Bench()
    bench.simulator.state.withLock { state in
      for number in 0..<APNsLimits.channelsPerAppMax {
        state.channels["\(number)"] = ChannelRecord(bundleID: bundleID, storesMessages: false, createdAtMs: 0)
      }
    }
    #expect(try manage(bench, "POST", body: policy).text == "400 CannotCreateChannelConfig")
  }
}
