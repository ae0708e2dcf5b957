import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Activities

/// The less common keys of notifications.
@Suite struct AlertKeyTests {
  private static func payload(_ request: SendAlertRequest) throws -> String {
    String(
      decoding: try AlertDraft(request, traceParent: nil, nowMs: Fixture.startMs).payload, as: UTF8.self)
  }

  @Test("a notification has the keys of tables 1 and 2 (Generating a remote notification)")
  func keysHaveTheirPlaces() throws {
    var request = SendAlertRequest(userId: "anna", alertId: "n:1", alert: Alert(title: "T"))
    (request.subtitleLocKey, request.subtitleLocArgs, request.launchImage) = ("SUBTITLE", ["a", "b"], "Splash")
    (request.relevanceScore, request.filterCriteria, request.targetContentId) = (0.5, "work", "room-7")
    request.contentAvailable = true
    let aps = try Self.payload(request)
    #expect(
      aps.hasPrefix(
        #"{"aps":{"alert":{"title":"T","subtitle-loc-key":"SUBTITLE","subtitle-loc-args":["a","b"],"launch-image":"Splash"},"content-available":1"#
      ))
    #expect(aps.contains(#","relevance-score":0.5,"filter-criteria":"work","target-content-id":"room-7"}"#))
  }

  @Test func keysAreAbsentUnlessGiven() throws {
    let request = SendAlertRequest(userId: "anna", alertId: "n:1", alert: Alert(title: "T"))
    #expect(try Self.payload(request) == #"{"aps":{"alert":{"title":"T"}}}"#)
  }

  @Test func keysAreValidated() throws {
    func fields(_ change: (inout SendAlertRequest) -> Void) -> [String] {
      var request = SendAlertRequest(userId: "anna", alertId: "n:1", alert: Alert(title: "T"))
      change(&request)
      do throws(RPCError) { _ = try AlertDraft(request, traceParent: nil, nowMs: Fixture.startMs) } catch {
        return error.fieldViolations.map(\.field)
      }
      return []
    }
    #expect(
      fields { ($0.alert, $0.subtitleLocKey, $0.launchImage) = (nil, "K", "I") } == ["subtitleLocKey", "launchImage"])
    #expect(fields { ($0.subtitle, $0.subtitleLocKey) = ("S", "K") } == ["subtitleLocKey"])
    #expect(fields { $0.subtitleLocArgs = ["a"] } == ["subtitleLocArgs"])
    #expect(fields { $0.relevanceScore = 1.1 } == ["relevanceScore"])
    #expect(fields { $0.filterCriteria = String(repeating: "x", count: 1_001) } == ["filterCriteria"])
  }
}
