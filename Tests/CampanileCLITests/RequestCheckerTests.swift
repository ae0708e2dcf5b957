import CampanileContract
import SwiftProtobuf
import Testing

@testable import CampanileCLI

@Suite struct RequestCheckerTests {
  /// The message of `DescriptorTests` with a field of its own type, a list of enum values and a map of messages.
  private static let file = {
    func field(
      _ name: String, _ jsonName: String, _ type: Google_Protobuf_FieldDescriptorProto.TypeEnum, _ typeName: String,
      _ label: Google_Protobuf_FieldDescriptorProto.Label
    ) -> Google_Protobuf_FieldDescriptorProto {
      .with {
        ($0.name, $0.jsonName, $0.type, $0.typeName, $0.label) = (name, jsonName, type, typeName, label)
        $0.number = 2
      }
    }
    var file = DescriptorTests.file
    for index in file.messageType[0].field.indices {
      let name = file.messageType[0].field[index].name
      file.messageType[0].field[index].jsonName = name == "by_bucket" ? "byBucket" : name
    }
    file.messageType[0].nestedType.append(
      .with {
        $0.name = "ByNameEntry"
        $0.options.mapEntry = true
        $0.field = [
          .with { ($0.name, $0.number, $0.type) = ("key", 1, .string) },
          field("value", "value", .message, ".shop.v1.Note", .optional),
        ]
      })
    file.messageType[0].field += [
      field("child", "child", .message, ".shop.v1.Note", .optional),
      field("states", "states", .enum, ".shop.v1.Note.State", .repeated),
      field("by_name", "byName", .message, ".shop.v1.Note.ByNameEntry", .repeated),
    ]
    return file
  }()

  private let checker: RequestChecker

  init() throws {
    checker = RequestChecker(
      try Contract(files: [Self.file]), method: KnownMethod(service: "shop.v1.NotesService", name: "WatchNotes"))
  }

  private func fault(_ json: String) -> String? {
    do throws(UsageError) {
      try checker.check(Array(json.utf8))
      return nil
    } catch { return error.description }
  }

  @Test(arguments: [
    "{}", #"{"tags":["a"],"byBucket":{"anything":1},"by_bucket":{"x":2},"state":"STATE_ON","time":"now"}"#,
    #"{"state":7}"#, #"{"child":{"child":null}}"#, "{", "[]", "7", #"{"tags":3,"byBucket":[],"child":"x"}"#,
  ])
  func knownNamesAndFaultsOfOtherKindsAreLeftToTheServer(json: String) { #expect(fault(json) == nil) }

  @Test(arguments: [
    (#"{"tag":[]}"#, "tag: shop.v1.Note has no such field; did you mean tags? (--allow-unknown sends it)"),
    (#"{"xxxxxxxx":1}"#, "xxxxxxxx: shop.v1.Note has no such field (--allow-unknown sends it)"),
    (
      #"{"child":{"boddy":1}}"#,
      "child.boddy: shop.v1.Note has no such field; did you mean body? (--allow-unknown sends it)"
    ),
    (
      #"{"child":{"state":"STATE_ONN"}}"#,
      #"child.state: shop.v1.Note.State has no value "STATE_ONN"; did you mean STATE_ON? (--allow-unknown sends it)"#
    ),
    (
      #"{"states":["STATE_ON","state_on"]}"#,
      #"states[1]: shop.v1.Note.State has no value "state_on"; did you mean STATE_ON? (--allow-unknown sends it)"#
    ),
    (
      #"{"byName":{"a":{},"b":{"tagz":1}}}"#,
      "byName.b.tagz: shop.v1.Note has no such field; did you mean tags? (--allow-unknown sends it)"
    ),
    ("{\"\\u001b[2J\":1}", "\\u001b[2J: shop.v1.Note has no such field (--allow-unknown sends it)"),
  ])
  func unknownNamesAreReportedWithPathAndNearestName(json: String, message: String) { #expect(fault(json) == message) }

  @Test func methodsWithoutDeclarationAreNotChecked() throws {
    let other = RequestChecker(
      try Contract(files: [Self.file]), method: KnownMethod(service: "shop.v1.NotesService", name: "Other"))
    try other.check(Array(#"{"tag":1}"#.utf8))
  }

  @Test func deepRequestsEnd() throws {
    let deep = String(repeating: #"{"child":"#, count: 200) + #"{"tag":1}"# + String(repeating: "}", count: 200)
    try checker.check(Array(deep.utf8))
  }
}
