import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import Testing

@testable import Notifications

@Suite struct SharedLimitTests {
  @Test func lastQuarterIsReservedForUsersWhoHoldNothing() {
    let limit = SharedLimit(total: 256, perUser: 16)
    #expect(limit.refusal(held: 0, taken: 0) == nil && limit.refusal(held: 15, taken: 191) == nil)
    #expect(limit.refusal(held: 16, taken: 16) == .userFull)
    #expect(limit.refusal(held: 1, taken: 192) == .reserved && limit.refusal(held: 15, taken: 255) == .reserved)
    #expect(limit.refusal(held: 0, taken: 192) == nil && limit.refusal(held: 0, taken: 255) == nil)
    #expect(limit.refusal(held: 0, taken: 256) == .full && limit.refusal(held: 3, taken: 256) == .full)
    // Too small for a reserve: first come, first served.
    #expect(SharedLimit(total: 3, perUser: 3).refusal(held: 2, taken: 2) == nil)
    #expect(SharedLimit(total: 0, perUser: 1).refusal(held: 0, taken: 0) == .full)
  }

  @Test func errorsContainTheLimit() async {
    let limit = SharedLimit(total: 8, perUser: 3)
    func refusal(held: Int, taken: Int) async -> RPCError? {
      await failure { try limit.check(held: held, taken: taken, of: "open uploads", Reason(rawValue: "FULL")) }
    }
    #expect(await refusal(held: 2, taken: 5) == nil)
    let errors = [await refusal(held: 3, taken: 3), await refusal(held: 1, taken: 6), await refusal(held: 0, taken: 8)]
    #expect(errors.allSatisfy { $0?.code == .resourceExhausted && $0?.reason == "FULL" })
    #expect(errors.map { $0?.errorMetadata["limit"] } == ["3", "6", "8"])
    #expect(
      errors.map { $0?.message } == [
        "a user may have 3 open uploads",
        "the service may have 6 open uploads; the rest is reserved for users without any",
        "the service may have 8 open uploads",
      ])
  }

  @Test("a hundred users at their watch limit leave some watches for later users")
  func watchesRemainForLaterUsers() async throws {
    let hub = WatchHub(limits: NotificationsLimits())
    for index in 0..<100 {
      for _ in 0..<100 { _ = try? hub.add(user: "taker \(index)") }
    }
    #expect(hub.count == 7_500 + 25)
    let signal = try hub.add(user: "anna")
    let second = await failure { try hub.add(user: "anna") }
    #expect(second?.code == .resourceExhausted && second?.reason == "WATCHES_EXHAUSTED")
    hub.remove(signal, user: "anna")
    _ = try hub.add(user: "anna")
  }
}
