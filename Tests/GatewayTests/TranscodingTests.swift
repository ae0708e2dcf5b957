import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import SwiftProtobuf
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// Conversion between JSON and binary protobuf, with swift-protobuf as the oracle for its own types.
@Suite struct TranscodingTests {
  /// The messages of the suite, and `google.protobuf.Struct`, which none of them uses.
  static let index = SchemaIndex(descriptorSet: DescriptorSet.serializedBytes + structFile)

  private static let structFile: [UInt8] = {
    let text = """
      file {
        name: "google/protobuf/struct.proto" package: "google.protobuf"
        message_type {
          name: "Struct"
          field { name: "fields" json_name: "fields" number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE
            type_name: ".google.protobuf.Struct.FieldsEntry" }
          nested_type {
            name: "FieldsEntry" options { map_entry: true }
            field { name: "key" json_name: "key" number: 1 type: TYPE_STRING }
            field { name: "value" json_name: "value" number: 2 type: TYPE_MESSAGE type_name: ".google.protobuf.Value" }
          }
        }
        message_type {
          name: "Value" oneof_decl { name: "kind" }
          field { name: "null_value" json_name: "nullValue" number: 1 type: TYPE_ENUM oneof_index: 0
            type_name: ".google.protobuf.NullValue" }
          field { name: "number_value" json_name: "numberValue" number: 2 type: TYPE_DOUBLE oneof_index: 0 }
          field { name: "string_value" json_name: "stringValue" number: 3 type: TYPE_STRING oneof_index: 0 }
          field { name: "bool_value" json_name: "boolValue" number: 4 type: TYPE_BOOL oneof_index: 0 }
          field { name: "struct_value" json_name: "structValue" number: 5 type: TYPE_MESSAGE oneof_index: 0
            type_name: ".google.protobuf.Struct" }
          field { name: "list_value" json_name: "listValue" number: 6 type: TYPE_MESSAGE oneof_index: 0
            type_name: ".google.protobuf.ListValue" }
        }
        message_type {
          name: "ListValue"
          field { name: "values" json_name: "values" number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE
            type_name: ".google.protobuf.Value" }
        }
        enum_type { name: "NullValue" value { name: "NULL_VALUE" number: 0 } }
      }
      """
    return (try? Google_Protobuf_FileDescriptorSet(textFormatString: text).serializedBytes()) ?? []
  }()

  static func json(_ bytes: [UInt8], _ type: String) throws(RPCError) -> String {
    let outcome = bytes.withUnsafeBytes { raw -> Result<[UInt8], RPCError> in
      do throws(RPCError) { return .success(try ProtobufToJSON.convert(raw, type, index)) } catch {
        return .failure(error)
      }
    }
    return String(decoding: try outcome.get(), as: UTF8.self)
  }

  static func binary(_ json: String, _ type: String) throws(RPCError) -> [UInt8] {
    let outcome = Array(json.utf8).withUnsafeBytes { raw -> Result<[UInt8], RPCError> in
      do throws(RPCError) { return .success(try JSONToProtobuf.convert(raw, type, index)) } catch {
        return .failure(error)
      }
    }
    return try outcome.get()
  }

  @Test(
    arguments: [
      (
        "campanile.rpc.v1.EchoRequest", #"{"payload":"caf\u00e9 \ud83d\udd14","delayMs":-7}"#,
        #"{"payload":"café 🔔","delayMs":-7}"#
      ),
      (
        "campanile.rpc.v1.CollectResponse", #"{"messageCount":3,"payloadSizeBytes":"-9223372036854775808"}"#,
        nil as String?
      ),
      (
        "campanile.gateway.v1.CreateApiKeyRequest",
        #"{"principal":"user/ada","scopes":["a","","b"],"expireTime":"2030-01-01T00:00:00.250Z"}"#, nil
      ),
      ("campanile.gateway.v1.ListApiKeysRequest", #"{"pageSize":10,"includeRevoked":true}"#, nil),
      (
        "campanile.notifications.v1.UpdateNotificationRequest",
        #"{"notification":{"id":"n","title":"t"},"updateMask":"title,readTime"}"#, nil
      ),
      (
        "campanile.gateway.v1.ListApiKeysResponse",
        #"{"apiKeys":[{"id":"a"},{},{"id":"b","createTime":"1970-01-01T00:00:00Z"}]}"#, nil
      ),
      ("campanile.rpc.v1.EchoRequest", "{}", nil),
    ] as [(String, String, String?)])
  func messagesRoundTrip(type: String, json: String, expected: String?) throws {
    #expect(try Self.json(Self.binary(json, type), type) == expected ?? json)
  }

  @Test func unknownEnumNamesBecomeTheNumberForThem() throws {
    let type = "campanile.notifications.v1.Notification"
    let binary = try Self.binary(#"{"id":"n","priority":"PRIORITY_OF_TOMORROW","later":1}"#, type)
    #expect(try Self.json(binary, type) == #"{"id":"n","priority":-2147483648}"#)
    #expect(try Notification(jsonString: Self.json(binary, type)).priority == .unrecognized(.min))
    for wrong in ["true", "{}", "[]", "1.5"] {
      #expect(throws: RPCError.self) { try Self.binary(#"{"priority":\#(wrong)}"#, type) }
    }
  }

  @Test func wellKnownTypesMatchSwiftProtobuf() throws {
    let text = #"{"a":[1,-2.5,"x",true,null,{"b":{}}],"c":"d","e":1e300}"#
    let oracle = try Google_Protobuf_Struct(jsonString: text)
    #expect(try Google_Protobuf_Struct(serializedBytes: Self.binary(text, "google.protobuf.Struct")) == oracle)
    let bytes: [UInt8] = try oracle.serializedBytes()
    #expect(try Google_Protobuf_Struct(jsonString: Self.json(bytes, "google.protobuf.Struct")) == oracle)
    let time = Google_Protobuf_Timestamp(seconds: 1_700_000_000, nanos: 5_000)
    let timeBytes: [UInt8] = try time.serializedBytes()
    #expect(try Self.json(timeBytes, "google.protobuf.Timestamp") == time.jsonString())
  }

  @Test func similarMapKeysDifferAndDefaultKeysAreOne() throws {
    let type = "campanile.notifications.v1.CreateNotificationRequest"
    func message(_ entries: [(key: String?, value: String)]) -> [UInt8] {
      var message = ProtobufBytes()
      for (key, value) in entries {
        var entry = ProtobufBytes()
        if let key { entry.blob(1, Array(key.utf8)) }
        entry.string(2, value)
        message.message(4, entry)
      }
      return message.bytes
    }
    #expect(
      try Array(Self.json(message([("é", "1"), ("e\u{301}", "2")]), type).utf8)
        == Array("{\"variables\":{\"é\":\"1\",\"e\u{301}\":\"2\"}}".utf8))
    #expect(
      try Self.json(message([(nil, "1"), ("a", "2"), ("", "3")]), type) == #"{"variables":{"":"3","a":"2"}}"#)
  }

  @Test func lastOneofFieldWinsAndTextWithTwoIsRefused() throws {
    let type = "campanile.attendance.v1.ImportCsvRequest"
    let schema = try #require(Self.index.messages[type])
    let (header, chunk) = (try #require(schema.field("header")), try #require(schema.field("chunk")))
    var message = ProtobufBytes()
    message.message(header.number, ProtobufBytes())
    message.blob(chunk.number, [1])
    #expect(try Self.json(message.bytes, type) == #"{"chunk":"AQ=="}"#)
    message.message(header.number, ProtobufBytes())
    #expect(try Self.json(message.bytes, type) == #"{"header":{}}"#)
    for text in [
      #"{"header":{},"chunk":"AQ=="}"#, #"{"chunk":"","chunk":""}"#, #"{"chunk":null,"chunk":"AQ=="}"#,
    ] {
      #expect(throws: RPCError.self) { _ = try Self.binary(text, type) }
    }
    #expect(try Self.binary(#"{"header":null,"chunk":"AQ=="}"#, type).count == 3)
    #expect(throws: RPCError.self) {
      _ = try Self.binary(
        #"{"variables":{"a":"1","\u0061":"2"}}"#, "campanile.notifications.v1.CreateNotificationRequest")
    }
  }

  @Test func messagePartsMergeAndUnknownFieldsAreDropped() throws {
    var inner = ProtobufBytes()
    inner.string(1, "n1")
    var other = ProtobufBytes()
    other.string(999, "unknown")
    var message = ProtobufBytes()
    message.message(1, inner)
    message.message(1, other)
    message.varint(12_345, 7)
    #expect(
      try Self.json(message.bytes, "campanile.notifications.v1.UpdateNotificationRequest")
        == #"{"notification":{"id":"n1"}}"#)
  }

  @Test func malformedBytesAreRefused() {
    let type = "campanile.gateway.v1.CreateApiKeyRequest"
    for bytes: [UInt8] in [
      [0x0A], [0x0A, 5, 0x61], [0xFF], Array(repeating: 0xFF, count: 11), [0x0A, 1, 0xFF], [0x08, 1], [0x0B], [0x0C],
      [0, 0], [0x0D, 1],
      [0x09, 1, 2], [0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], [0x22, 2, 0x10, 0xFF], [0x20, 1],
      [0x22, 10, 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
      [0x22, 6, 0x10, 0x80, 0x94, 0xEB, 0xDC, 0x0F],
    ] {
      let error = #expect(throws: RPCError.self, "\(bytes)") { _ = try Self.json(bytes, type) }
      #expect(error?.code == .invalidArgument)
    }
    // A list in a list, 200 times.
    var value = ProtobufBytes()
    for _ in 0..<200 {
      var list = ProtobufBytes()
      list.message(1, value)
      value = ProtobufBytes()
      value.message(6, list)
    }
    let error = #expect(throws: RPCError.self) { _ = try Self.json(value.bytes, "google.protobuf.Value") }
    #expect(error?.reason == "BODY_TOO_DEEP")
    #expect(throws: RPCError.self) { _ = try Self.binary(#"{"principal":{}}"#, type) }
    #expect(throws: RPCError.self) { _ = try Self.binary("[]", type) }
  }

  @Test func randomBytesNeverTrap() {
    var random = SystemRandomNumberGenerator()
    let types = [
      "google.protobuf.Struct", "campanile.notifications.v1.CreateNotificationRequest",
      "campanile.gateway.v1.ListApiKeysResponse",
      "campanile.notifications.v1.WatchNotificationsResponse",
    ]
    for round in 0..<4000 {
      let count = Int.random(in: 0..<64, using: &random)
      // Tags of low field numbers are frequent, so that many inputs are parsed far.
      let bytes = (0..<count).map { _ in
        Bool.random(using: &random)
          ? UInt8.random(in: 0..<0x40, using: &random) : UInt8.random(in: 0...255, using: &random)
      }
      guard let json = try? Self.json(bytes, types[round % types.count]) else { continue }
      #expect(throws: Never.self) { try Array(json.utf8).withUnsafeBytes { try RawJSON.checkValue($0) } }
    }
  }
}
