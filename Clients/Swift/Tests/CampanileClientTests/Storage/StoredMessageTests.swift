import CampanileClient
import CampanileNotifications
import CampanileStorage
import CampanileSync
import Testing

/// Generated messages, whose fields are described by tables.
struct StoredMessageTests {
  private typealias Notification = CampanileNotifications.Notification

  private static let full = Notification(
    id: "n_1", bucketId: "b_1", title: "Title \"quoted\"", subtitle: "", body: "è – 日本",
    priority: .normal,
    attachments: [.init(mediaType: .image, url: "https://example.com/a.png", name: "a.png"), .init(name: "b")],
    actions: [.init(type: .navigate, value: "https://example.com", title: "Open")],
    tapAction: .init(type: .delete), createTime: .init(seconds: 1_763_700_000, nanos: 123_000_000),
    deliveryState: .init(rawValue: 99), sendCount: -3, recipientIds: ["u_1", "u_2"])

  @Test func textIsThatOfTheContract() throws {
    let text = Self.full.jsonString()
    #expect(text.hasPrefix(#"{"id":"n_1","bucketId":"b_1","title":"Title \"quoted\"","subtitle":"","#))
    #expect(text.contains(#""attachments":[{"#) && text.contains(#""deliveryState":99"#))
    #expect(text.contains(#""createTime":"2025-11-21T04:40:00.123Z""#) && text.contains(#""sendCount":-3"#))
    #expect(text.hasSuffix(#""recipientIds":["u_1","u_2"]}"#))
    #expect(try Notification(jsonString: text) == Self.full)
    #expect(Notification().jsonString() == "{}")
    #expect("\(Self.full)".contains(text))
  }

  @Test func protoNamesAndUnknownFieldsAreRead() throws {
    let text = #"{"bucket_id":"b","future":{"a":[1,null]},"send_count":"7","title":null,"sendTime":null}"#
    let message = try Notification(jsonString: text)
    #expect(message.bucketId == "b" && message.sendCount == 7 && message.title.isEmpty && message.sendTime == nil)
  }

  @Test(arguments: [
    (#"{"id":"a","id":"b"}"#, "DUPLICATE_FIELD"), (#"{"bucketId":"a","bucket_id":"b"}"#, "DUPLICATE_FIELD"),
    (#"{"id":1}"#, "WRONG_TYPE"), (#"{"attachments":{}}"#, "WRONG_TYPE"), (#"{"id":"a""#, "JSON_SYNTAX"),
    (#"{"createTime":"yesterday"}"#, "INVALID_FORMAT"), (#"{"sendCount":3000000000}"#, "OUT_OF_RANGE"),
  ])
  func faultsAreErrors(_ text: String, _ code: String) {
    let error = #expect(throws: ProtoJSONError.self) { try Notification(jsonString: text) }
    #expect(error.map { "\($0)".hasPrefix(code + ":") } == true)
  }

  @Test func onlyOneMemberOfAOneofIsPresent() throws {
    var response = WatchNotificationsResponse()
    #expect(response.event == nil)
    response.event = .started(.init())
    #expect(response.jsonString() == #"{"started":{}}"#)
    response.event = .change(.init(change: .notificationCreated(.init(id: "n_1"))))
    #expect(response.jsonString() == #"{"change":{"notificationCreated":{"id":"n_1"}}}"#)
    #expect(try WatchNotificationsResponse(jsonString: response.jsonString()) == response)
    #expect(throws: ProtoJSONError.self) { try WatchNotificationsResponse(jsonString: #"{"started":{},"change":{}}"#) }
    response.event = nil
    #expect(response == WatchNotificationsResponse())
  }

  @Test func copiesAreIndependent() {
    var copy = Self.full
    copy.title = "Other"
    copy.attachments[0].name = "c.png"
    copy.attachments.append(.init(name: "d"))
    copy.tapAction?.value = "x"
    copy.recipientIds.removeAll()
    #expect(Self.full.title == "Title \"quoted\"" && Self.full.attachments.map(\.name) == ["a.png", "b"])
    #expect(Self.full.tapAction?.value == "" && Self.full.recipientIds.count == 2)
    #expect(copy.attachments.map(\.name) == ["c.png", "b", "d"] && copy.tapAction?.value == "x")
    #expect(!copy.jsonString().contains("recipientIds"))
    copy.body = nil
    copy.createTime = nil
    #expect(copy.body == nil && copy.createTime == nil && copy != Self.full)
  }

  @Test func aListGrowsInPlace() {
    var response = ListNotificationsResponse()
    for index in 0..<20_000 { response.notifications.append(.init(id: "n_\(index)")) }
    #expect(response.notifications.count == 20_000 && response.notifications.last?.id == "n_19999")
  }

  @Test func equalMessagesHaveEqualHashes() throws {
    let read = try Notification(jsonUTF8: Self.full.jsonUTF8Bytes())
    #expect(read == Self.full && read.hashValue == Self.full.hashValue)
    var composed = Notification(title: "\u{E9}")
    let decomposed = Notification(title: "e\u{301}")
    #expect(composed == decomposed && composed.hashValue == decomposed.hashValue)
    composed.subtitle = ""
    #expect(composed != decomposed)
    #expect(Set([Notification(), Notification(id: ""), Notification(id: "a")]).count == 2)
  }

  @Test func nestingIsBounded() {
    let text = #"{"attachments":[{"name":"a"}]}"#
    #expect(throws: ProtoJSONError.self) { try Notification(jsonString: text, options: .init(maxDepth: 2)) }
    #expect(throws: Never.self) { try Notification(jsonString: text, options: .init(maxDepth: 3)) }
  }
}
