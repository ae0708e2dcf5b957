import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import Testing

@testable import Notifications

@Suite struct TokenTests {
  @Test func tokenIsBoundToItsScope() {
    let token = OpaqueToken.encode([1, 2, 3], scope: ["list", "anna"])
    #expect(OpaqueToken.decode(token, scope: ["list", "anna"]) == [1, 2, 3])
    for scope in [["list", "bruno"], ["lista", "nna"], ["listanna"], ["list", "anna", ""], []] {
      #expect(OpaqueToken.decode(token, scope: scope) == nil, "\(scope)")
    }
  }

  @Test func changedTokensAreRejected() {
    let token = OpaqueToken.encode(Array("n_0123456789".utf8), scope: ["list"])
    let characters = Array(token)
    for index in characters.indices {
      var changed = characters
      changed[index] = changed[index] == "A" ? "B" : "A"
      #expect(OpaqueToken.decode(String(changed), scope: ["list"]) == nil)
      #expect(OpaqueToken.decode(String(characters[..<index]), scope: ["list"]) == nil)
    }
    for text in ["", "A", "====", "é", String(repeating: "A", count: 5_000), "\u{0}"] {
      #expect(OpaqueToken.decode(text, scope: ["list"]) == nil)
    }
  }

  @Test func pageTokenIsBoundToItsQuery() async throws {
    let component = try await Fixture().open()
    let service = component.service
    let context = anna
    let a = try await service.makeBucket("a", context)
    let b = try await service.makeBucket("b", context)
    for index in 0..<4 { _ = try await service.make("\(index)", in: index < 2 ? a.id : b.id, context) }
    _ = try await service.makeBucket("x", bruno)
    var first = ListNotificationsRequest(pageSize: 1)
    let token = try await service.listNotifications(first, context: context).nextPageToken
    #expect(!token.isEmpty)
    let others: [(inout ListNotificationsRequest) -> Void] = [
      { $0.bucketId = a.id }, { $0.unreadOnly = true }, { $0.startTime = ProtoTimestamp(seconds: 1) },
      { $0.endTime = ProtoTimestamp(seconds: 4_000_000_000) },
    ]
    for change in others {
      var request = ListNotificationsRequest(pageToken: token)
      change(&request)
      let error = await failure { try await service.listNotifications(request, context: context) }
      #expect(error?.code == .invalidArgument && error?.reason == "PAGE_TOKEN_INVALID")
      #expect(error?.fieldViolations.map(\.field) == ["pageToken"])
    }
    first.pageToken = token
    #expect(
      await failure { try await service.listNotifications(first, context: bruno) }?.reason
        == "PAGE_TOKEN_INVALID")
    // A different page size still belongs to the same list.
    first.pageSize = 3
    #expect(try await service.listNotifications(first, context: context).notifications.count == 3)
    let buckets = ListBucketsRequest(pageToken: token)
    #expect(await failure { try await service.listBuckets(buckets, context: context) }?.reason == "PAGE_TOKEN_INVALID")
    await component.close()
  }

  @Test func listParametersAreValidated() async throws {
    let component = try await Fixture().open()
    for size in [-1, .min] as [Int32] {
      let request = ListNotificationsRequest(pageSize: size)
      #expect(
        await failure { try await component.service.listNotifications(request, context: user("a")) }?.reason
          == "OUT_OF_RANGE")
      let buckets = ListBucketsRequest(pageSize: size)
      #expect(
        await failure { try await component.service.listBuckets(buckets, context: user("a")) }?.reason == "OUT_OF_RANGE"
      )
    }
    // A page size above the limit is cut down to it.
    let large = ListNotificationsRequest(pageSize: .max)
    #expect(try await component.service.listNotifications(large, context: user("a")).notifications.isEmpty)
    for time in [
      ProtoTimestamp(seconds: .max), .init(seconds: .min), .init(seconds: 0, nanos: -1), .init(seconds: 0, nanos: .max),
    ] {
      let request = ListNotificationsRequest(startTime: time, endTime: time)
      let error = await failure { try await component.service.listNotifications(request, context: user("a")) }
      #expect(error?.fieldViolations.map(\.field) == ["startTime", "endTime"])
    }
    var request = ListNotificationsRequest(startTime: ProtoTimestamp(seconds: 2), endTime: ProtoTimestamp(seconds: 2))
    #expect(
      await failure { try await component.service.listNotifications(request, context: user("a")) }?.reason
        == "TIME_RANGE_EMPTY")
    request.startTime = ProtoTimestamp(seconds: -62_135_596_800)
    request.endTime = ProtoTimestamp(seconds: 253_402_300_799, nanos: 999_999_999)
    #expect(try await component.service.listNotifications(request, context: user("a")).notifications.isEmpty)
    await component.close()
  }
}
