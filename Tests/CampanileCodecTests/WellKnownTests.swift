import CampanileCodec
import TestMessages
import Testing

/// The JSON forms of the well-known types of `google.protobuf`.
@Suite struct WellKnownTests {
  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0, 0, nil), ("1969-12-31T23:59:59.999999999Z", -1, 999_999_999, nil),
      ("0001-01-01T00:00:00Z", -62_135_596_800, 0, nil),
      ("9999-12-31T23:59:59.999Z", 253_402_300_799, 999_000_000, nil),
      ("2000-02-29T12:00:00Z", 951_825_600, 0, nil),
      ("2024-02-29T00:00:00+01:30", 1_709_159_400, 0, "2024-02-28T22:30:00Z"),
      ("2025-01-01T00:00:00.1Z", 1_735_689_600, 100_000_000, "2025-01-01T00:00:00.100Z"),
    ] as [(String, Int64, Int32, String?)])
  func readsTimestamps(_ text: String, _ seconds: Int64, _ nanos: Int32, _ canonical: String?) throws {
    let value = try ProtoTimestamp(jsonString: "\"\(text)\"")
    #expect(value == ProtoTimestamp(seconds: seconds, nanos: nanos))
    #expect(value.jsonString() == "\"\(canonical ?? text)\"")
  }

  @Test(arguments: [
    "", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01t00:00:00Z", "1970-01-01T00:00:00z", "1970-13-01T00:00:00Z",
    "1900-02-29T00:00:00Z", "2023-04-31T00:00:00Z", "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z",
    "1970-01-01T00:00:60Z",
    "1970-01-01T00:00:00.Z", "1970-01-01T00:00:00.0000000000Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01",
    "1970-01-01T00:00:00+0100", "1970-01-01T00:00:00+14:00", "1970-01-01T00:00:00Zx", "1970-01-01 00:00:00Z",
    "10000-01-01T00:00:00Z", "1970-01-01T00:00:00.5", "é970-01-01T00:00:0Z",
  ])
  func rejectsInvalidTimestamps(_ text: String) {
    #expect(ErrorTests.failure(ProtoTimestamp.self, "\"\(text)\"")?.code == .invalidFormat)
  }

  @Test func clampsTimestampsOutsideLegalRange() {
    #expect(ProtoTimestamp(seconds: .max, nanos: -5).jsonString() == "\"9999-12-31T23:59:59.999999999Z\"")
    #expect(ProtoTimestamp(seconds: .min).jsonString() == "\"0001-01-01T00:00:00Z\"")
    #expect(ProtoTimestamp(millisecondsSince1970: -1).jsonString() == "\"1969-12-31T23:59:59.999Z\"")
    #expect(ProtoTimestamp(millisecondsSince1970: .max).millisecondsSince1970 == 253_402_300_799_999)
    for milliseconds: Int64 in [-62_135_596_800_000, -1, 0, 1, 1_763_700_000_123] {
      #expect(ProtoTimestamp(millisecondsSince1970: milliseconds).millisecondsSince1970 == milliseconds)
    }
  }

  @Test(
    arguments: [
      ("0s", 0, 0, nil), ("-0.500s", 0, -500_000_000, nil), ("1.5s", 1, 500_000_000, "1.500s"),
      ("315576000000s", 315_576_000_000, 0, nil), ("-1.000000001s", -1, -1, nil), ("-0s", 0, 0, "0s"),
    ] as [(String, Int64, Int32, String?)])
  func readsDurations(_ text: String, _ seconds: Int64, _ nanos: Int32, _ canonical: String?) throws {
    let value = try ProtoDuration(jsonString: "\"\(text)\"")
    #expect(value == ProtoDuration(seconds: seconds, nanos: nanos))
    #expect(value.jsonString() == "\"\(canonical ?? text)\"")
  }

  @Test(arguments: [
    "", "s", "1", "-s", ".5s", "1.s", "1.0000000001s", "315576000001s", "1 s", "+1s", "--1s", "1ss", "1.5.5s",
  ])
  func rejectsInvalidDurations(_ text: String) {
    #expect(ErrorTests.failure(ProtoDuration.self, "\"\(text)\"")?.code == .invalidFormat)
  }

  @Test func normalizesDurations() {
    #expect(ProtoDuration(seconds: 1, nanos: -500_000_000).jsonString() == "\"0.500s\"")
    #expect(ProtoDuration(seconds: -1, nanos: 500_000_000).jsonString() == "\"-0.500s\"")
    #expect(ProtoDuration(seconds: .max, nanos: .max).jsonString() == "\"315576000000s\"")
    #expect(ProtoDuration(seconds: .min, nanos: .min).jsonString() == "\"-315576000000s\"")
    #expect(ProtoDuration(milliseconds: -1500).milliseconds == -1500)
  }

  @Test func readsFieldMasks() throws {
    let mask = try ProtoFieldMask(jsonString: #""title,tapAction.value""#)
    #expect(mask.paths == ["title", "tap_action.value"])
    #expect(mask.jsonString() == #""title,tapAction.value""#)
    #expect(try ProtoFieldMask(jsonString: "\"*\"").paths == ["*"])
    #expect(try ProtoFieldMask(jsonString: "\"\"").paths.isEmpty)
    #expect(ProtoFieldMask(paths: ["a__b", "c_"]).jsonString() == #""a__b,c_""#)
    for bad in ["a_b", "a,", ",", "a,,b", "a b", "é"] {
      #expect(ErrorTests.failure(ProtoFieldMask.self, "\"\(bad)\"")?.code == .invalidFormat, "\(bad)")
    }
  }

  @Test func preservesFreeFormJSON() throws {
    let json = #"{"struct":{"z":1.0,  "a":[1e2,"\u0041"]},"value":"x","listValue":[ ]}"#
    let message = try WellKnown(jsonString: json)
    #expect(message.struct?.json == #"{"z":1.0,  "a":[1e2,"\u0041"]}"#)
    #expect(message.jsonString() == json)
    for (bad, code) in [
      (#"{"struct":[]}"#, .wrongType), (#"{"listValue":{}}"#, .wrongType),
      (#"{"struct":{"a":1,"\u0061":2}}"#, .duplicateField),
      (#"{"value":[1e400]}"#, .outOfRange), (#"{"value":{"a":tru}}"#, .syntax),
      (#"{"value":"\udead"}"#, .loneSurrogate),
    ] as [(String, ProtoJSONError.Code)] {
      #expect(ErrorTests.failure(WellKnown.self, bad)?.code == code, "\(bad)")
    }
    #expect(throws: ProtoJSONError.self) { try ProtoValue(json: "1 2") }
    #expect(ProtoValue(string: "a\"b").json == #""a\"b""#)
  }

  @Test func packsAndUnpacksAny() throws {
    let branch = Branch.with { $0.length = 3 }
    let any = ProtoAny(packing: branch)
    #expect(any.jsonString() == #"{"@type":"type.googleapis.com/campanile.testing.v1.Branch","length":3}"#)
    #expect(try ProtoAny(jsonString: any.jsonString()).unpack(as: Branch.self) == branch)
    #expect(throws: ProtoJSONError.self) { try any.unpack(as: Tree.self) }
    let duration = ProtoAny(packing: ProtoDuration(seconds: 1))
    #expect(duration.json == #"{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"}"#)
    #expect(try duration.unpack(as: ProtoDuration.self).seconds == 1)
    #expect(try ProtoAny(jsonString: "{}") == ProtoAny())
    for bad in [#"{"a":1}"#, #"{"@type":1}"#, #"{"@type":""}"#, #"{"@type":"x"}"#, #"{"@type":"x/"}"#] {
      #expect(ErrorTests.failure(ProtoAny.self, bad)?.code == .invalidFormat, "\(bad)")
    }
  }

  @Test func bytesRoundTrip() throws {
    for count in 0..<100 {
      let message = Scalars.with { $0.someBytes = (0..<count).map { UInt8($0 * 37 % 256) } }
      #expect(try Scalars(jsonUTF8: message.jsonUTF8Bytes()) == message)
    }
  }
}
