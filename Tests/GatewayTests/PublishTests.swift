import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import Foundation
import NIOHTTP1
import Testing

@testable import GatewayDialects
@testable import GatewayHTTP

@Suite struct PublishTests {
  private static let nowMs: Int64 = 1_639_126_800_000  // 2021-12-10T09:00:00Z

  private func head(_ headers: [(String, String)], uri: String = "/publish/b_1") throws -> RequestHead {
    var fields = HTTPHeaders([("Host", "localhost")])
    for (name, value) in headers { fields.add(name: name, value: value) }
    return try RequestHead(HTTPRequestHead(version: .http1_1, method: .POST, uri: uri, headers: fields))
  }

  private func message(
    _ headers: [(String, String)] = [], query: String = "", body: [UInt8] = Array("text".utf8), type: String? = nil
  ) throws -> PublishMessage {
    var parameters = try PublishParameters(try head(headers, uri: "/publish/b_1?\(query)"))
    let body = try PublishBody(body, contentType: type, &parameters)
    return try PublishMessage(parameters, body: body, nowMs: Self.nowMs)
  }

  /// The fields and reasons of the error that `body` throws.
  private func faults(_ body: () throws -> PublishMessage) -> [String] {
    do {
      _ = try body()
      return []
    } catch let error as RPCError {
      return error.fieldViolations.isEmpty
        ? [error.reason] : error.fieldViolations.map { "\($0.field) \($0.reason)" }
    } catch { return ["\(error)"] }
  }

  @Test("a text without parameters becomes title and body")
  func bareText() throws {
    let one = try message(body: Array("Backup done".utf8)).notification
    #expect(one.title == "Backup done" && one.body == nil && one.priority == .unspecified)
    let two = try message(body: Array("Backup done\n\n42 files\n".utf8)).notification
    #expect(two.title == "Backup done" && two.body == "42 files\n")
    let long = String(repeating: "x", count: 300)
    let three = try message(body: Array(long.utf8)).notification
    #expect(three.title == String(repeating: "x", count: 256) && three.body == long)
    let none = try message(body: [])
    #expect(none.notification.title == "triggered" && none.parameters.notes.count == 1)
  }

  @Test("ntfy's and Zentik's names have the same meaning")
  func names() throws {
    for headers in [
      [("Title", "T"), ("Priority", "5"), ("Click", "https://a.example/")],
      [("X-Title", "T"), ("X-Priority", "urgent"), ("X-Click", "https://a.example/")],
      [("t", "T"), ("p", "max"), ("click", "https://a.example/")],
      [
        ("x-message-title", "T"), ("x-message-delivery-type", "CRITICAL"), ("X-Message-tapUrl", "https://a.example/"),
      ],
    ] {
      let found = try message(headers).notification
      #expect(found.title == "T" && found.body == "text" && found.priority == .critical, "\(headers)")
      #expect(found.tapAction == Action(type: .navigate, value: "https://a.example/"), "\(headers)")
    }
    let query = try message(query: "t=T&prio=low&deliver=1&".replacing("deliver=1&", with: "sid=k&m=M"), body: [])
    #expect(query.notification.title == "T" && query.notification.body == "M")
    #expect(query.notification.priority == .silent && query.notification.collapseKey == "k")
    #expect(query.parameters.values[.title]?.source == "query t")
    // A header takes precedence over the query.
    #expect(try message([("Title", "H")], query: "title=Q").notification.title == "H")
  }

  @Test("headers of HTTP, browsers and proxies are no parameters")
  func foreignHeaders() throws {
    let found = try message([
      ("Priority", "u=1, i"), ("TE", "trailers"), ("X-Forwarded-For", "10.0.0.1"), ("X-Real-IP", "10.0.0.1"),
      ("Accept", "*/*"), ("Locale", "it"), ("Body", "no"), ("X-Request-Id", "1"),
    ])
    #expect(found.notification == CampanileAPI.Notification(title: "text") && found.parameters.notes == [])
  }

  @Test("mistakes are reported with the name of the parameter")
  func mistakes() throws {
    #expect(faults { try message([("x-message-titel", "T")]) } == ["x-message-titel PARAMETER_UNKNOWN"])
    #expect(faults { try message(query: "colour=red&t=x") } == ["colour PARAMETER_UNKNOWN"])
    #expect(faults { try message([("Title", "a"), ("X-Title", "b")]) } == ["title PARAMETER_REPEATED"])
    #expect(faults { try message(query: "t=a&title=b") } == ["title PARAMETER_REPEATED"])
    #expect(try message([("X-Tiltle", "T")]).parameters.notes == ["header X-Tiltle is unknown; did you mean X-title?"])
    #expect(try message([("X-Tilte", "T")]).parameters.notes.count == 1)
    for (value, reason) in [("6", "ENUM_UNKNOWN"), ("-1", "ENUM_UNKNOWN"), ("hi", "ENUM_UNKNOWN")] {
      #expect(faults { try message([("Priority", value)]) } == ["priority \(reason)"])
    }
    #expect(faults { try message([("Title", "caf\u{FFFD}")]) } == ["Title TEXT_INVALID"])
    #expect(faults { try message(body: [0x66, 0xFF]) } == ["message TEXT_INVALID"])
    #expect(
      faults { try message(body: Array("x".utf8), type: "text/plain; charset=iso-8859-1") } == ["message TEXT_INVALID"])
    #expect(faults { try message(body: Array("{}".utf8), type: "application/json") } == ["CONTENT_TYPE_UNSUPPORTED"])
    let long = [UInt8](repeating: UInt8(ascii: "a"), count: PublishMessage.messageBytesMax + 1)
    #expect(faults { try message(body: long) } == ["message TOO_LONG"])
    #expect(faults { try message(query: "t=%ff") } == ["PATH_INVALID"])
    // Several mistakes are reported together.
    #expect(
      faults { try message([("Priority", "9"), ("Delay", "soon"), ("x-message-ephemeral", "maybe")]) }
        == ["priority ENUM_UNKNOWN", "delay PARAMETER_INVALID", "ephemeral PARAMETER_INVALID"])
  }

  @Test("parameters without an effect are noted")
  func notes() throws {
    let found = try message([("Email", "a@example.org"), ("Cache", "no"), ("Markdown", "yes")])
    #expect(
      found.parameters.notes == [
        "header Cache: every notification is stored", "header Email: no e-mail is sent",
        "header Markdown: the text is shown as it is",
      ])
  }

  @Test("tags become symbols before the title, and words below it")
  func tags() throws {
    let found = try message([("Title", "Disk"), ("Tags", "warning, mailsrv13,daily-backup")]).notification
    #expect(found.title == "\u{26A0}\u{FE0F} Disk" && found.subtitle == "mailsrv13, daily-backup")
  }

  @Test("headers may be encoded as in RFC 2047")
  func encodedWords() throws {
    for (text, expected) in [
      ("=?UTF-8?B?8J+HqfCfh6o=?=", "\u{1F1E9}\u{1F1EA}"), ("=?UTF-8?Q?=C3=84pfel?=", "\u{C4}pfel"),
      ("a =?utf-8?q?b_c?= =?utf-8?q?d?= e", "a b cd e"), ("2 =? 3", nil), ("=?latin1?q?x?=", nil),
      ("=?UTF-8?B?//8=?=", nil), ("=?UTF-8?X?a?=", nil), ("=?UTF-8?Q?=C?=", nil), ("plain", "plain"),
    ] as [(String, String?)] {
      #expect(EncodedWords.decoded(text) == expected, "\(text)")
    }
  }

  @Test(
    "delays have ntfy's forms",
    arguments: [
      ("30m", 30), ("2 hours", 120), ("1 day", 1440), ("1h30m", 90), ("90s", 1), ("10am", 60), ("8am", 1380),
      ("tomorrow, 10am", 1500), ("today 15:30", 390), ("at 12pm", 180), ("1639130400", 60),
      ("2021-12-10T11:00:00Z", 120), ("2021-12-10t11:00:00+01:00", 60),
    ])
  func delays(text: String, minutes: Int64) {
    let found = PublishTimes.instantMs(text, zone: .gmt, nowMs: Self.nowMs)
    #expect(found.map { ($0 - Self.nowMs) / 60_000 } == minutes)
  }

  @Test(arguments: [
    "", "soon", "30", "m", "-5m", "1.5h", "25:00", "13pm", "0am", "10:60", "99999999999999999999", "5 fortnights",
    "9223372036854775807d", "tomorrow", "next week", String(repeating: "1h", count: 60), "1h;", "10am10am",
  ])
  func otherDelaysAreRefused(text: String) {
    #expect(PublishTimes.instantMs(text, zone: .gmt, nowMs: Self.nowMs) == nil)
  }

  @Test("a time of day is that of the time zone")
  func timeZones() throws {
    let found = try message([("At", "10am"), ("X-Timezone", "America/New_York")]).notification
    #expect(found.deliverTime?.millisecondsSince1970 == Self.nowMs + 6 * 3_600_000)
    #expect(faults { try message([("In", "5m"), ("Timezone", "Mars/Base")]) } == ["timezone TIME_ZONE_UNKNOWN"])
    #expect(faults { try message([("At", "2020-01-01T00:00:00Z")]) } == ["delay TIME_PAST"])
  }

  @Test("actions have ntfy's short form, its JSON, and Zentik's")
  func actions() throws {
    var notes: [String] = []
    let short = try PublishActions.parse(
      "view, \"Open; all, \\\"now\\\"\", https://a.example/?x=1, clear=true; http, Restart, url=https://b.example/, method=put",
      &notes)
    #expect(
      short == [
        Action(type: .navigate, value: "https://a.example/?x=1", title: "Open; all, \"now\""),
        Action(type: .backgroundCall, value: "PUT::https://b.example/", title: "Restart"),
      ])
    #expect(notes.count == 1)
    let json = try PublishActions.parse(
      "[{\"action\":\"view\",\"label\":\"Open\",\"url\":\"https://a.example/\"},{\"type\":\"DELETE\",\"destructive\":true}]",
      &notes)
    #expect(
      json == [
        Action(type: .navigate, value: "https://a.example/", title: "Open"), Action(type: .delete, destructive: true),
      ])
  }

  @Test(arguments: [
    ("view", "actions[0].label REQUIRED"), ("view, Open", "actions[0].url REQUIRED"),
    ("broadcast, Go", "actions[0].action ENUM_UNKNOWN"), ("view, \"Open", "actions PARAMETER_INVALID"),
    ("view, \"a\" b, https://a.example/", "actions PARAMETER_INVALID"),
    ("view, a, https://a.example/, more", "actions[0] PARAMETER_INVALID"),
    ("view, a, https://a.example/, label=b", "actions[0].label PARAMETER_REPEATED"),
    ("http, a, https://a.example/, body=x", "actions[0].body FIELD_NOT_ALLOWED"),
    ("[{\"type\":\"EXPLODE\"}]", "actions[0].type ENUM_UNKNOWN"), ("[{\"label\":\"x\"", "actions BODY_NOT_JSON"),
    (String(repeating: "view,a,https://a.example/;", count: 17), "actions TOO_MANY"),
  ])
  func invalidActionsAreReported(text: String, fault: String) {
    let found = faults { try message([("Actions", text)]) }
    #expect(found == [fault])
  }

  @Test("a body with a file name is a file")
  func files() throws {
    let png = try message([("Filename", "cam.png"), ("Message", "Front door")], body: [0x89, 0x50]).notification
    #expect(png.title == "Front door" && png.attachments.count == 1)
    let file = png.attachments[0]
    #expect(
      file.mediaType == .image && file.contentType == "image/png" && file.name == "cam.png"
        && file.data == [0x89, 0x50])
    let typed = try message(query: "m=x", body: [1, 2], type: "video/mp4").notification
    #expect(typed.attachments.first?.mediaType == .video && typed.attachments.first?.name == "attachment")
    let linked = try message([("Attach", "https://a.example/x.GIF?s=1")]).notification
    #expect(linked.attachments == [Attachment(mediaType: .gif, url: "https://a.example/x.GIF?s=1")])
  }

  @Test("a form is one only if its names are parameters")
  func forms() throws {
    let form = try message(body: Array("title=T&message=a+b%21&p=5".utf8), type: PublishBody.formType).notification
    #expect(form.title == "T" && form.body == "a b!" && form.priority == .critical)
    for text in ["Backup=done", "a & b", "title", "100%", "x=1&title=T"] {
      let found = try message(body: Array(text.utf8), type: PublishBody.formType).notification
      #expect(found.title == text, "\(text)")
    }
  }

  @Test("the credential is a publish key, or the caller's own")
  func credentials() {
    let key = "cpk_" + String(repeating: "A", count: 43)
    let other = "cpk_" + String(repeating: "B", count: 43)
    let inPath = PublishCredential(nil, target: key, nil)
    #expect(inPath.publishKey == key && inPath.bucket == nil && inPath.fault == nil)
    let inHeader = PublishCredential("Bearer \(key)", target: nil, nil)
    #expect(inHeader.publishKey == key && inHeader.authorization == nil)
    let basic = "Basic " + Base64.text(Array(":cmp_x".utf8))
    let own = PublishCredential(basic, target: "Builds", nil)
    #expect(own.publishKey == nil && own.authorization == "Bearer cmp_x" && own.bucket == "Builds")
    #expect(PublishCredential("Bearer cmp_x", target: key, nil).authorization == "Bearer cmp_x")
    #expect(PublishCredential(nil, target: "cpk_short", nil).fault?.reason == "PUBLISH_KEY_INVALID")
    #expect(PublishCredential(nil, target: key, other).fault?.reason == "REQUEST_INVALID")
    #expect(PublishCredential(nil, target: "b_1", key).fault?.reason == "REQUEST_INVALID")
  }

  @Test("errors of the service name parameters")
  func renaming() {
    let error = RPCError(
      .invalidArgument, "notification.body: is too long", reason: "TOO_LONG",
      fieldViolations: [.init(field: "notification.body", description: "is too long", reason: "TOO_LONG")])
    let renamed = PublishRoute.renamed(error)
    #expect(renamed.fieldViolations.first?.field == "message" && renamed.message == "message: is too long")
  }
}
