import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import NIOHTTP1
import Testing

@testable import Gateway
@testable import GatewayDialects
@testable import GatewayHTTP

/// Tests of the dialects that need no service; the others are in Tests/SuiteTests.
@Suite struct DialectTests {
  private static func request(_ headers: [(String, String)]) throws -> RequestHead {
    try RequestHead(
      HTTPRequestHead(
        version: .http1_1, method: .GET, uri: "/api/fratelli", headers: HTTPHeaders([("Host", "localhost")] + headers)))
  }

  @Test func kilwinningHasThirteenCalls() {
    let paths = [
      "fratelli", "fratelli/login", "fratelli/logout", "fratelli/me", "fratelli/7", "presenze",
      "presenze/riepilogo-fratelli", "presenze/fratello/7", "presenze/fratello/7/statistiche", "tornate",
      "admin/tornate", "admin/tornate/7",
    ]
    let actions = paths.flatMap { path in KilwinningDialect.actions(path.split(separator: "/")[...]).values }
    #expect(Set(actions).count == 13)
    for path in ["fratelli/7/8", "admin", "presenze/7", "tornate/7", "fratelli/+7", "fratelli/7.5", "admin/tornate/x"] {
      #expect(KilwinningDialect.actions(path.split(separator: "/")[...]).isEmpty, "\(path)")
    }
  }

  @Test(
    arguments: [
      ("a=1; kilwinning_session=cas_x-Y; b=2", "cas_x-Y"), ("kilwinning_session=", nil), ("a=1", nil), ("", nil),
      ("kilwinning_session=a b", "-"), ("kilwinning_session=\"x\"", "-"),
      ("kilwinning_session=\(String(repeating: "x", count: 257))", "-"),
      ("xkilwinning_session=a", nil), ("KILWINNING_SESSION=a", nil), ("kilwinning_session = a", nil),
    ] as [(String, String?)])
  func cookiesAreParsed(header: String, value: String?) throws {
    #expect(try SessionCookie.value("kilwinning_session", Self.request([("Cookie", header)])) == value)
  }

  @Test(arguments: [
    [("Cookie", "kilwinning_session=a; kilwinning_session=b")],
    [("Cookie", "kilwinning_session=a"), ("Cookie", "kilwinning_session=a")],
  ]) func duplicateCookiesAreRefused(headers: [(String, String)]) throws {
    let request = try Self.request(headers)
    #expect(throws: RPCError.self) { try SessionCookie.value("kilwinning_session", request) }
  }

  @Test func cookiesAreSecureUnlessConfiguredOtherwise() {
    let secure = SessionCookie.set("s", "v", path: "/api", maxAgeS: 60, isSecure: true)
    #expect(secure.value == "s=v; Path=/api; Max-Age=60; HttpOnly; SameSite=Lax; Secure")
    #expect(!SessionCookie.set("s", "v", path: "/api", maxAgeS: 60, isSecure: false).value.contains("Secure"))
    #expect(SessionCookie.set("s", "v", path: "/api", maxAgeS: -5, isSecure: false).value.contains("Max-Age=0;"))
  }

  @Test func keyTakesPrecedenceOverCookie() throws {
    let cookie = ("Cookie", "kilwinning_session=cas_x")
    #expect(try KilwinningCaller(Self.request([cookie])).session == "cas_x")
    let both = try KilwinningCaller(Self.request([cookie, ("Authorization", "Bearer k")]))
    #expect(both.session == nil && both.identity == .bearer("Bearer k"))
    #expect(try KilwinningCaller(Self.request([])).isStranger)
  }

  @Test(
    arguments: [
      ("2019-04-30T22:00:00Z", "Europe/Rome", "2019-05-01"), ("2019-04-30T21:59:59Z", "Europe/Rome", "2019-04-30"),
      ("2019-01-01T04:00:00Z", "America/New_York", "2018-12-31"),
      ("2019-01-01T04:00:00Z", "Nowhere/None", "2019-01-01"),
      ("2019-05-01T12:00:00Z", "Pacific/Honolulu", "2019-05-01"), ("2019-05-01T12:00:00Z", "Asia/Tokyo", "2019-05-01"),
    ])
  func instantsFallOnDaysOfTheLodge(text: String, zone: String, day: String) throws {
    #expect(DialectTimes.day(try #require(DialectTimes.time(text)), zone: zone) == day)
  }

  @Test(arguments: ["", "2025-11-25", "2025-11-25T18:30:00", "ieri", "2025-02-30T00:00:00Z", "\"", "\\u0000"])
  func invalidInstantsAreRejected(text: String) { #expect(DialectTimes.time(text) == nil) }

  @Test func timesHaveNoFractions() {
    #expect(DialectTimes.text(ProtoTimestamp(millisecondsSince1970: 1_764_095_400_999)) == "2025-11-25T18:30:00Z")
    #expect(DialectTimes.text(nil) == "1970-01-01T00:00:00Z")
  }

  @Test func fieldsHaveOneType() throws {
    let fields = try JSONFields(Array(#"{"i":3,"f":3.5,"s":"3","b":true,"n":null,"o":{"x":1},"a":["p","q"]}"#.utf8))
    #expect(try fields.integer("i") == 3)
    #expect(try fields.number("f") == 3.5)
    #expect(try fields.string("s") == "3")
    #expect(try fields.bool("b") == true)
    #expect(try fields.strings("a", max: 2) == ["p", "q"])
    #expect(try fields.object("o")?.integer("x") == 1)
    #expect(try fields.string("n") == nil && fields.string("missing") == nil)
    #expect(throws: RPCError.self) { try fields.integer("f") }
    #expect(throws: RPCError.self) { try fields.integer("s") }
    #expect(throws: RPCError.self) { try fields.bool("i") }
    #expect(throws: RPCError.self) { try fields.string("i") }
    #expect(throws: RPCError.self) { try fields.strings("a", max: 1) }
    #expect(throws: RPCError.self) { try fields.object("a") }
    #expect(throws: RPCError.self) { try fields.required("missing", fields.string("missing")) }
  }

  @Test(arguments: ["[]", "3", "{", #"{"a":1,"a":2}"#, "{\"a\":}", "\u{FEFF}{}"])
  func invalidBodiesAreRefused(text: String) {
    #expect(throws: RPCError.self) { try JSONFields(Array(text.utf8)) }
  }

  // MARK: Zentik

  @Test(
    arguments: [
      (["READ"], .reader), (["READ", "WRITE"], .publisher), (["DELETE"], .publisher), (["ADMIN", "READ"], .admin),
      ([], nil), (["OWNER"], nil), (["READ", "read"], nil),
    ] as [([String], BucketRole?)])
  func permissionsMapToRoles(words: [String], role: BucketRole?) throws {
    guard let role else {
      let error = #expect(throws: RPCError.self) { try ZentikSharing.role(words) }
      #expect(error?.fieldViolations.first?.field == "permissions")
      return
    }
    #expect(try ZentikSharing.role(words) == role)
    guard case .array(let all) = ZentikSharing.permissions(role), !all.isEmpty else {
      Issue.record("no permissions")
      return
    }
    #expect(all.first == .string("READ") && all.contains(.string("ADMIN")) == (role == .admin))
  }

  @Test func onlyBucketsAreShared() throws {
    #expect(try ZentikSharing.bucket(type: "BUCKET", id: "b_1") == "b_1")
    for (type, id, field) in [
      ("USER", "b_1", "resourceType"), (nil, "b_1", "resourceType"), ("BUCKET", nil, "resourceId"),
    ] {
      let error = #expect(throws: RPCError.self) { try ZentikSharing.bucket(type: type, id: id) }
      #expect(error?.fieldViolations.first?.field == field)
    }
  }

  @Test func batchesAreNotTakenForIDs() {
    for prefix in [["notifications"], ["notifications", "watch"]] {
      #expect(ZentikDialect.actions(prefix + ["batch", "read"]) == ["PATCH": .markRead(nil)])
      #expect(ZentikDialect.actions(prefix + ["batch", "unread"]) == ["PATCH": .markUnread(nil)])
      #expect(ZentikDialect.actions(prefix + ["batch"]) == ["DELETE": .delete(nil)])
      #expect(ZentikDialect.actions(prefix + ["postpone"]) == ["POST": .postpone])
      #expect(ZentikDialect.actions(prefix + ["n_1", "read"]) == ["PATCH": .markRead(["n_1"])])
      #expect(ZentikDialect.actions(prefix + ["n_1"]) == ["DELETE": .delete(["n_1"]), "GET": .phone(.get("n_1"))])
    }
    #expect(ZentikDialect.actions(["notifications"]) == ["GET": .phone(.list)])
    #expect(ZentikDialect.actions(["notifications", "mark-all-read"]) == ["PATCH": .phone(.markAllRead)])
    #expect(ZentikDialect.actions(["notifications", "update-received"]) == ["PATCH": .phone(.receivedThrough)])
    #expect(ZentikDialect.actions(["notifications", "n_1", "device-received"]) == ["PATCH": .phone(.received("n_1"))])
    #expect(ZentikDialect.actions(["notifications", "batch", "device-received"]).isEmpty)
    #expect(ZentikDialect.actions(["notifications", "postpones"]) == ["GET": .phone(.listPostponed)])
    #expect(
      ZentikDialect.actions(["notifications", "postpones", "n_1"]) == ["DELETE": .phone(.cancelPostponed("n_1"))])
    #expect(
      ZentikDialect.actions(["notifications", "postpones", "read"]) == ["DELETE": .phone(.cancelPostponed("read"))])
    #expect(ZentikDialect.actions(["messages", "x"]).isEmpty)
    #expect(ZentikDialect.actions(["entity-permissions", "grant"]) == ["POST": .share(.grant)])
    #expect(ZentikDialect.actions(["invite-codes", "redeem"]) == ["POST": .share(.redeemCode)])
    #expect(ZentikDialect.actions(["invite-codes", "b_1.v_1"]) == ["DELETE": .share(.deleteCode("b_1.v_1"))])
    #expect(ZentikDialect.actions(["invite-codes", "x", "y"]).isEmpty)
    #expect(ZentikDialect.actions(["entity-permissions"]).isEmpty)
  }

  @Test func appKeyPrefixIsTranslated() {
    #expect(ZentikDialect.authorization("Bearer zat_abc") == "Bearer cmp_abc")
    #expect(ZentikDialect.authorization("Bearer cmp_abc") == "Bearer cmp_abc")
    #expect(ZentikDialect.authorization("zat_abc") == "zat_abc")
  }

  @Test func messageBecomesANotification() throws {
    let text = """
      {"title":"T","subtitle":"S","body":"B","deliveryType":"CRITICAL","bucketId":"b_1","collapseId":"c","ephemeral":true,
      "attachments":[{"mediaType":"FILE","url":"https://a.example/f","name":"f"}],"imageUrl":"https://a.example/i",
      "actions":[{"type":"BACKGROUND_CALL","value":"POST::https://a.example","title":"Go","destructive":true}],
      "tapUrl":"https://a.example/t","snoozes":[5],"postpones":[10,20],"remindEveryMinutes":15,"userIds":["u1","u2"],
      "sound":"x",
      "groupId":"g","locale":"it-IT"}
      """
    let message = try ZentikMessage(JSONFields(Array(text.utf8)), nowMs: 1_000_000)
    let made = message.notification
    #expect(message.bucket == "b_1" && !message.isScheduled)
    #expect(made.title == "T" && made.subtitle == "S" && made.body == "B" && made.priority == .critical)
    #expect(made.collapseKey == "c" && made.expireTime?.millisecondsSince1970 == 4_600_000)
    #expect(made.attachments.map(\.mediaType) == [.file, .image])
    #expect(made.actions.map(\.type) == [.backgroundCall, .snooze, .postpone, .postpone, .markAsRead, .delete])
    #expect(made.actions.map(\.destructive) == [true, false, false, false, false, true])
    #expect(made.sound == "x" && made.threadId == "g" && made.recipientIds == ["u1", "u2"])
    #expect(
      made.actions.map(\.title) == [
        "Go", "Silenzia per 5 min", "Posticipa di 10 min", "Posticipa di 20 min", "Segna come letta", "Elimina",
      ])
    #expect(made.tapAction?.type == .navigate && made.tapAction?.value == "https://a.example/t")
    #expect(made.`repeat`?.every?.seconds == 900 && made.`repeat`?.maxCount == 5)
  }

  @Test func recipientsMayBeAListWithCommas() throws {
    func recipients(_ json: String) throws -> [String] {
      let text = #"{"title":"T","deliveryType":"NORMAL","bucketId":"b","userIds":\#(json)}"#
      return try ZentikMessage(JSONFields(Array(text.utf8)), nowMs: 0).notification.recipientIds
    }
    #expect(try recipients(#""u1, u2,,""#) == ["u1", "u2"])
    #expect(try recipients("null").isEmpty && recipients(#""""#).isEmpty && recipients("[]").isEmpty)
  }

  @Test(arguments: [nil, "en-EN", "de", "", "it_CH"])
  func labelsAreItalianOrEnglish(locale: String?) {
    let words = ZentikWords(locale: locale)
    #expect(words.delete == (locale == "it_CH" ? "Elimina" : "Delete"))
    #expect(words.open == (locale == "it_CH" ? "Apri" : "Open"))
  }

  /// The members that the app's service extension reads from `GET /notifications/:id`.
  @Test func entityHasTheMembersOfTheApp() throws {
    var notification = Notification(
      id: "n_1", bucketId: "b_1", title: "T", body: "B", priority: .critical, createTime: ProtoTimestamp(seconds: 5))
    notification.attachments = [Attachment(mediaType: .gif, url: "https://a.example/g")]
    notification.actions = [Action(type: .openNotification, value: "n_1")]
    let tree = ZentikEntities.notification(
      notification, of: Bucket(id: "b_1", name: "Box"), receivedTime: ProtoTimestamp(seconds: 6))
    let text = String(decoding: DialectAnswer(200, tree).body, as: UTF8.self)
    for part in [
      #""id":"n_1""#, #""readAt":null"#, #""receivedAt":"1970-01-01T00:00:06Z""#,
      #""createdAt":"1970-01-01T00:00:05Z""#, #""deliveryType":"CRITICAL""#, #""subtitle":null,"tags":[]"#,
      #""attachments":[{"mediaType":"GIF","name":null,"url":"https://a.example/g"}]"#, #""tapAction":null"#,
      #"{"destructive":false,"icon":null,"title":null,"type":"OPEN_NOTIFICATION","value":"n_1"}"#,
      #""bucket":{"color":null,"createdAt":null,"description":null,"iconUrl":null,"id":"b_1","name":"Box","#,
    ] { #expect(text.contains(part), "\(part) in \(text)") }
  }

  @Test(
    arguments: [
      (#"{}"#, ["title", "deliveryType", "bucketId"]),
      (#"{"title":"T","deliveryType":"LOUD","bucketId":"b"}"#, ["deliveryType"]),
      (#"{"title":7,"deliveryType":"NORMAL","magicCode":"cpk_x"}"#, ["title", "title"]),
      (#"{"title":"T","deliveryType":"NORMAL","bucketId":"b","snoozes":[0]}"#, ["snoozes"]),
      (#"{"title":"T","deliveryType":"NORMAL","bucketId":"b","actions":[{"type":"X"}]}"#, ["actions[0].type"]),
      (
        #"{"title":"T","deliveryType":"NORMAL","bucketId":"b","attachments":[{"url":"u"}]}"#,
        ["attachments[0].mediaType"]
      ),
      (#"{"title":"T","deliveryType":"NORMAL","bucketId":"b","scheduledSendAt":"soon"}"#, ["scheduledSendAt"]),
      (
        #"{"title":"T","deliveryType":"NORMAL","bucketId":"b","userIds":[1],"sound":2,"groupId":[]}"#,
        ["sound", "groupId", "userIds"]
      ),
      (#"{"title":"T","deliveryType":"NORMAL","bucketId":"b","ephemeral":"yes"}"#, ["ephemeral"]),
    ])
  func allErrorsOfAMessageAreReported(text: String, properties: [String]) throws {
    let fields = try JSONFields(Array(text.utf8))
    let error = #expect(throws: RPCError.self) { try ZentikMessage(fields, nowMs: 0) }
    #expect(error?.fieldViolations.map(\.field) == properties)
    let answer = ZentikFailure.answer(try #require(error))
    #expect(answer.status == 400 && String(decoding: answer.body, as: UTF8.self).contains("Validation failed"))
  }
}
