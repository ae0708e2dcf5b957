import CampanileCodec
import TestMessages
import Testing

/// Decoding cases that the comparison with the oracle does not cover.
@Suite struct ReadingTests {
  @Test func acceptsBothNameForms() throws {
    #expect(try Scalars(jsonString: #"{"anInt32":1}"#) == Scalars(jsonString: #"{"an_int32":1}"#))
    let awkward = try Awkward(jsonString: #"{"cus\"tom":"a","ünïcode":"b"}"#)
    #expect(awkward.custom == "a" && awkward.accented == "b")
    #expect(try Awkward(jsonString: #"{"custom":"a","accented":"b"}"#) == awkward)
    #expect(awkward.jsonString() == #"{"cus\"tom":"a","ünïcode":"b"}"#)
  }

  @Test func nullIsTheDefault() throws {
    let json = #"{"aDouble":null,"anInt64":null,"aString":null,"someBytes":null,"color":null,"scalars":null}"#
    #expect(try OptionalScalars(jsonString: json) == OptionalScalars())
    #expect(try RepeatedFields(jsonString: #"{"strings":null,"values":null}"#) == RepeatedFields())
    #expect(try MapFields(jsonString: #"{"stringToString":null}"#) == MapFields())
    #expect(try Choices(jsonString: #"{"aBool":null,"anInt64":"1"}"#).choice == .anInt64(1))
  }

  @Test func nullIsAValueOfTypesThatAllowIt() throws {
    #expect(try WellKnown(jsonString: #"{"value":null}"#).value == ProtoValue())
    #expect(try Choices(jsonString: #"{"value":null}"#).choice == .value(ProtoValue()))
    #expect(try Choices(jsonString: #"{"nothing":null}"#).choice == .nothing(.nullValue))
    #expect(try RepeatedFields(jsonString: #"{"values":[null,1]}"#).values.map(\.json) == ["null", "1"])
  }

  @Test func keepsUnknownEnumNumbers() throws {
    let message = try Scalars(jsonString: #"{"color":42}"#)
    #expect(message.color == .unrecognized(42) && message.color.rawValue == 42)
    #expect(message.jsonString() == #"{"color":42}"#)
    #expect(try Scalars(jsonString: #"{"color":"COLOR_CRIMSON"}"#).color == .red)
    #expect(try Scalars(jsonString: #"{"color":7}"#).jsonString() == #"{"color":"COLOR_DEEP_SKY_BLUE"}"#)
  }

  @Test func unknownFieldsAreIgnoredAndUnknownEnumNamesUnrecognized() throws {
    let json = #"{"new":{"a":[1,{"b":"\n"}],"a":2},"color":"COLOR_NEW","aString":"x"}"#
    let message = try Scalars(jsonString: json)
    #expect(message.color == .unrecognized(JSONReader.unknownEnumNumber))
    #expect(message.jsonString() == #"{"aString":"x","color":-2147483648}"#)
    #expect(try Scalars(jsonString: message.jsonString()) == message)
    let list = try RepeatedFields(jsonString: #"{"colors":["COLOR_RED","COLOR_NEW"]}"#)
    #expect(list.colors == [.red, .unrecognized(.min)])
    // Skipped values are still checked.
    #expect(ErrorTests.failure(Scalars.self, #"{"new":[1,]}"#)?.code == .syntax)
    #expect(ErrorTests.failure(Scalars.self, #"{"new":"\ud800"}"#)?.code == .loneSurrogate)
  }

  @Test func readsIntegersExactly() throws {
    for (text, value) in [
      ("\"-9223372036854775808\"", Int64.min), ("9223372036854775807", .max), ("1e3", 1000), ("1.0", 1),
      ("-15e-1 ", nil),
      ("150e-1", 15), ("0.9223372036854775807e19", .max), ("\"1e18\"", 1_000_000_000_000_000_000), ("1e19", nil),
      ("9223372036854775808", nil), ("0e999999999999", 0), ("1e-999999999999", nil), ("-0", 0), ("1e+2", 100),
      ("\"\"", nil),
    ] as [(String, Int64?)] {
      #expect((try? Scalars(jsonString: "{\"anInt64\":\(text)}"))?.anInt64 == value, "\(text)")
    }
    #expect(try Scalars(jsonString: #"{"aUint64":18446744073709551615}"#).aUint64 == .max)
    #expect(try Scalars(jsonString: #"{"aUint64":"1.8446744073709551615e19"}"#).aUint64 == .max)
    #expect(ErrorTests.failure(Scalars.self, #"{"aUint64":18446744073709551616}"#)?.code == .outOfRange)
    #expect(ErrorTests.failure(Scalars.self, #"{"aUint64":-1}"#)?.code == .outOfRange)
    #expect(ErrorTests.failure(Scalars.self, #"{"aUint32":4294967296}"#)?.code == .outOfRange)
    #expect(ErrorTests.failure(Scalars.self, #"{"aDouble":1e400}"#)?.code == .outOfRange)
    #expect(ErrorTests.failure(Scalars.self, #"{"aFloat":1e39}"#)?.code == .outOfRange)
  }

  @Test func messageMayContainItself() throws {
    let json = #"{"name":"a","child":{"name":"b","trunk":{"tree":{"name":"c"},"length":1}},"linked":{"name":"d"}}"#
    var tree = try Tree(jsonString: json)
    #expect(tree.child?.trunk?.tree?.name == "c")
    #expect(tree.jsonString() == json)
    let copy = tree
    tree.child?.name = "changed"
    #expect(copy.child?.name == "b" && tree != copy && Set([tree, copy]).count == 2)
  }

  @Test func wideMessageDetectsRepeatedFields() throws {
    let json = "{" + (1...130).map { "\"field\($0)\":\($0)" }.joined(separator: ",") + "}"
    let message = try Wide(jsonString: json)
    #expect(message.field1 == 1 && message.field65 == 65 && message.field130 == 130)
    #expect(message.jsonString() == json)
    let error = ErrorTests.failure(Wide.self, String(json.dropLast()) + ",\"field_129\":1}")
    #expect(error?.code == .duplicateField && error?.fieldPath == "field_129")
  }

  @Test func mapsHaveKeysOfEveryType() throws {
    let json =
      #"{"int32ToInt64":{"-1":"2"},"uint64ToBytes":{"18446744073709551615":"AA=="},"boolToString":{"false":"f","true":"t"}}"#
    let message = try MapFields(jsonString: json)
    #expect(message.uint64ToBytes == [.max: [0]] && message.boolToString == [true: "t", false: "f"])
    #expect(message.jsonString() == json)
    for bad in [
      #"{"int32ToInt64":{"x":1}}"#, #"{"boolToString":{"TRUE":""}}"#, #"{"uint32ToBool":{"-1":true}}"#,
      #"{"int32ToInt64":{"2147483648":1}}"#, #"{"int32ToInt64":{"1":1,"1e0":2}}"#, #"{"int32ToInt64":{1:1}}"#,
      #"{"stringToString":{"a":null}}"#,
    ] {
      #expect(ErrorTests.failure(MapFields.self, bad) != nil, "\(bad)")
    }
  }
}
