import CampanileBase
import CampanileJSON
import CampanileRPC
import Testing

@testable import CampanileLoad

/// Request templates and their variables.
@Suite struct RequestTests {
  private func rendered(_ text: String, times: Int = 1, lastReply: String? = nil) throws -> [String] {
    let template = try RequestTemplate(Array(text.utf8))
    var state = TemplateState(
      random: SplitMix64(seed: 3), sequence: 5, sequenceStep: 2, nowMs: { 1_700_000_000_123 })
    let reply = try lastReply.map { try JSONValue.parse($0) }
    return (0..<times).map { _ in
      var bytes: [UInt8] = []
      template.render(into: &bytes, state: &state, lastReply: reply)
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  @Test func requestWithoutVariablesIsUnchanged() throws {
    let text = #"{"a": {"b":{"c":"\"{"}} , "d":[1,2]}"#
    #expect(try rendered(text) == [text])
    #expect(try RequestTemplate([]).isConstant)
  }

  @Test func sequencesCountInStepsOfLoop() throws {
    #expect(
      try rendered(#"{"n":{{sequence}},"s":"x{{ sequence }}"}"#, times: 2) == [
        #"{"n":5,"s":"x7"}"#, #"{"n":9,"s":"x11"}"#,
      ])
  }

  @Test func timesAndUUIDsFitTheirContext() throws {
    #expect(
      try rendered(#"{"a":{{now}},"b":"{{now}}","c":{{nowMs}}}"#) == [
        #"{"a":"2023-11-14T22:13:20.123Z","b":"2023-11-14T22:13:20.123Z","c":1700000000123}"#
      ])
    let texts = try rendered(#"{"a":"{{uuid}}"}"#, times: 2)
    #expect(texts[0] != texts[1])
    for text in texts {
      #expect(
        text.wholeMatch(of: /\{"a":"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"\}/) != nil)
    }
  }

  @Test func randomNumbersStayInRange() throws {
    let values = try rendered(#"{"a":{{random -2 2}}}"#, times: 200).compactMap { Int($0.dropFirst(5).dropLast()) }
    #expect(values.count == 200 && Set(values) == [-2, -1, 0, 1, 2])
  }

  @Test func fieldOfPreviousReplyIsInserted() throws {
    let reply = #"{"item":{"id":"a\"b","n":7,"list":[true]}}"#
    #expect(try rendered(#"{"id":"{{reply /item/id}}"}"#, lastReply: reply) == [#"{"id":"a\"b"}"#])
    #expect(
      try rendered(#"{"id":{{reply /item/id}},"n":{{reply /item/n}}}"#, lastReply: reply) == [#"{"id":"a\"b","n":7}"#])
    #expect(try rendered(#"{"x":{{reply /item/list/0 else false}}}"#, lastReply: reply) == [#"{"x":true}"#])
    #expect(try rendered(#"{"x":"{{reply /gone else none}}"}"#, lastReply: reply) == [#"{"x":"none"}"#])
    #expect(try rendered(#"{"x":{{reply /item/id}}}"#) == [#"{"x":null}"#])
  }

  @Test(arguments: [
    (#"{"a":{{nothing}}}"#, "none of"), (#"{"a":{{sequence}"#, "no }}"), (#"{"a":{{random 5}}}"#, "none of"),
    (#"{"a":{{random 5 1}}}"#, "lower"), (#"{"a":{{reply item}}}"#, "starts with"),
    (#"{"a":{{reply /a or b}}}"#, "none of"),
    ("[1]", "object"), ("7", "object"), (#"{"a":}"#, "at byte 5"), (#"{"a":1"#, "at byte 6"),
    (#"{"a":1} x"#, "at byte 8"),
  ])
  func invalidRequestsAreRejected(_ text: String, _ why: String) {
    #expect { try RequestTemplate(Array(text.utf8)) } throws: {
      guard let error = $0 as? LoadError else { return false }
      return error.code == .requestInvalid && error.reason.contains(why)
    }
  }

  @Test func linesAreSeparateRequests() throws {
    let set = try RequestSet(lines: Array("{\"a\":1}\n\n  \r\n{\"a\":{{sequence}}}\n".utf8))
    #expect(set.templates.count == 2)
    #expect { try RequestSet(lines: Array("{}\n{]\n".utf8)) } throws: { ($0 as? LoadError)?.field == "line 2" }
    #expect { try RequestSet(lines: Array("\n \n".utf8)) } throws: { ($0 as? LoadError)?.code == .requestInvalid }
  }
}
