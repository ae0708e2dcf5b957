import CampanileAPI
import CampanileContract
import SwiftProtobuf
import Testing

@testable import CampanileCLI

@Suite struct DescriptorTests {
  /// The descriptor of a small file with comments, as from protoc.
  static let file: Google_Protobuf_FileDescriptorProto = {
    func field(
      _ name: String, _ number: Int32, _ type: Google_Protobuf_FieldDescriptorProto.TypeEnum, _ typeName: String = "",
      repeated: Bool = false
    ) -> Google_Protobuf_FieldDescriptorProto {
      var field = Google_Protobuf_FieldDescriptorProto()
      field.name = name
      field.number = number
      field.type = type
      if !typeName.isEmpty { field.typeName = typeName }
      field.label = repeated ? .repeated : .optional
      return field
    }
    var entry = Google_Protobuf_DescriptorProto()
    entry.name = "ByBucketEntry"
    entry.options.mapEntry = true
    entry.field = [field("key", 1, .string), field("value", 2, .int32)]
    var state = Google_Protobuf_EnumDescriptorProto()
    state.name = "State"
    state.value = ["STATE_UNSPECIFIED", "STATE_ON"].enumerated().map { number, name in
      var value = Google_Protobuf_EnumValueDescriptorProto()
      value.name = name
      value.number = Int32(number)
      return value
    }
    var note = Google_Protobuf_DescriptorProto()
    note.name = "Note"
    note.nestedType = [entry]
    note.enumType = [state]
    var optional = field("body", 2, .string)
    optional.oneofIndex = 1
    optional.proto3Optional = true
    var choice = field("time", 5, .message, ".google.protobuf.Timestamp")
    choice.oneofIndex = 0
    note.field = [
      field("tags", 1, .string, repeated: true), optional,
      field("by_bucket", 3, .message, ".shop.v1.Note.ByBucketEntry", repeated: true),
      field("state", 4, .enum, ".shop.v1.Note.State"), choice,
    ]
    note.oneofDecl = ["when", "_body"].map { name in
      var oneof = Google_Protobuf_OneofDescriptorProto()
      oneof.name = name
      return oneof
    }
    var method = Google_Protobuf_MethodDescriptorProto()
    method.name = "WatchNotes"
    method.inputType = ".shop.v1.Note"
    method.outputType = ".shop.v1.Note"
    method.serverStreaming = true
    method.options.idempotencyLevel = .noSideEffects
    var service = Google_Protobuf_ServiceDescriptorProto()
    service.name = "NotesService"
    service.method = [method]
    var file = Google_Protobuf_FileDescriptorProto()
    file.package = "shop.v1"
    file.messageType = [note]
    file.service = [service]
    let comments: [([Int32], String)] = [
      ([4, 0], " A note.\n Two lines.\n"), ([4, 0, 2, 0], " Its tags.\n"), ([6, 0, 2, 0], " Watch.\n"),
    ]
    file.sourceCodeInfo.location = comments.map { path, text in
      var location = Google_Protobuf_SourceCodeInfo.Location()
      location.path = path
      location.leadingComments = text
      return location
    }
    return file
  }()

  let text: ProtoText

  init() throws { text = ProtoText(contract: try Contract(files: [Self.file])) }

  static let note = """
    // A note.
    // Two lines.
    message shop.v1.Note {
      enum State {
        STATE_UNSPECIFIED = 0;
        STATE_ON = 1;
      }
      // Its tags.
      repeated string tags = 1;
      optional string body = 2;
      map<string, int32> by_bucket = 3;
      Note.State state = 4;
      oneof when {
        google.protobuf.Timestamp time = 5;
      }
    }

    """

  @Test func printsMessages() throws { #expect(try text.text(of: "Note") == Self.note) }

  @Test func printsServicesAndMethods() throws {
    let rpc = """
      rpc WatchNotes(Note) returns (stream Note) {
        option idempotency_level = NO_SIDE_EFFECTS;
      }
      """
    #expect(
      try text.text(of: "NotesService") == """
        service shop.v1.NotesService {
          // Watch.
          rpc WatchNotes(Note) returns (stream Note) {
            option idempotency_level = NO_SIDE_EFFECTS;
          }
        }

        """)
    #expect(
      try text.text(of: "watchnotes")
        == "// shop.v1.NotesService/WatchNotes\n// Watch.\n\(rpc)\n\n\(Self.note)\n\(Self.note)"
        + "\n// Example request:\n{}\n\n// Command:\ncampanile watch WatchNotes\n")
    #expect(try text.text(of: "State").hasPrefix("enum shop.v1.Note.State {"))
  }

  @Test func methodsHaveTheirAccessReasonsAndCommand() throws {
    let suite = ProtoText(contract: try Contract(descriptorSet: DescriptorSet.serializedBytes))
    let method = try suite.text(of: "UpdateBucket")
    let comment = "  // Scope: notifications:write\n  // REST: PATCH /notifications/v1/buckets/{bucket.id}\n"
    #expect(method.contains(comment))
    let title = "// Reasons of errors, in addition to those of the gateway:\n"
    #expect(method.contains(title + "// BUCKET_NOT_FOUND, COLOR_INVALID, "))
    #expect(
      method.hasSuffix(
        "\n\n// Command:\ncampanile call UpdateBucket '{\"bucket\":{\"id\":\"BUCKET_ID\",\"name\":\"Builds\"}}'\n"))
    #expect(try suite.text(of: "Bucket").contains("  string name = 2;  // 1 to 128 characters\n"))
    #expect(try suite.text(of: "BatchCreateNotificationsRequest").contains("requests = 1;  // 1 to 1000 entries\n"))
  }

  /// A field with the serialized option, which this version does not know.
  private func file(option: [UInt8]) throws -> Google_Protobuf_FileDescriptorProto {
    var file = Self.file
    file.messageType[0].field[1].options = try Google_Protobuf_FieldOptions(serializedBytes: option)
    return file
  }

  @Test(
    arguments: [
      // (buf.validate.field).cel = {}
      [0xBA, 0x48, 0x03, 0xBA, 0x01, 0x00],
      // (buf.validate.field).string.email = true
      [0xBA, 0x48, 0x04, 0x72, 0x02, 0x60, 0x01],
      // A length beyond the end.
      [0xBA, 0x48, 0x04, 0x72, 0x7F, 0x60, 0x01],
    ] as [[UInt8]])
  func unreadableConstraintsAreReported(option: [UInt8]) throws {
    let file = try file(option: option)
    #expect(throws: ContractError.self) { try Contract(files: [file]) }
    let text = ProtoText(contract: try Contract(files: [file], reading: .lenient))
    let expected = "optional string body = 2;  // constraints that this version cannot read\n"
    #expect(try text.text(of: "Note").contains(expected))
    #expect(try text.text(of: "WatchNotes").hasSuffix("campanile watch WatchNotes\n"))
  }

  @Test func foreignNamesForgeNoLinesOrCommands() throws {
    var file = Self.file
    file.service[0].method[0].name = "a\n\u{1b}[2J'; rm x"
    let text = ProtoText(contract: try Contract(files: [file], reading: .lenient))
    let described = try text.text(of: text.contract.methods[0].path)
    #expect(!described.contains("\u{1b}") && !described.contains("a\n"))
    #expect(described.hasSuffix(#"campanile watch 'a\u000a\u001b[2J'\''; rm x'"# + "\n"))
  }

  /// Each field requires a message of its own type, and one a text of any length.
  @Test func examplesOfForeignServersAreBounded() throws {
    var note = Google_Protobuf_DescriptorProto()
    note.name = "Note"
    note.field = try (1...50).map { number in
      var field = Google_Protobuf_FieldDescriptorProto()
      field.name = "f\(number)"
      field.number = Int32(number)
      // (buf.validate.field).required = true
      var option: [UInt8] = [0xBA, 0x48, 0x03, 0xC8, 0x01, 0x01]
      field.type = .message
      field.typeName = ".shop.v1.Note"
      if number == 1 {
        field.type = .string
        // (buf.validate.field).string.min_len = 2^63 - 1
        option = [0xBA, 0x48, 0x0C, 0x72, 0x0A, 0x10] + Array(repeating: 0xFF, count: 8) + [0x7F]
      } else if number == 2 {
        field.type = .double
        field.typeName = ""
        // (buf.validate.field).double.gte = infinity
        option = [0xBA, 0x48, 0x0B, 0x12, 0x09, 0x29, 0, 0, 0, 0, 0, 0, 0xF0, 0x7F]
      }
      field.options = try Google_Protobuf_FieldOptions(serializedBytes: option)
      return field
    }
    var file = Self.file
    file.messageType[0] = note
    let text = ProtoText(contract: try Contract(files: [file], reading: .lenient))
    #expect(try text.text(of: "WatchNotes").utf8.count < 1 << 20)
  }

  @Test func suggestsNamesForTypos() {
    let error = #expect(throws: NameError.self) { try text.text(of: "NotesServise") }
    #expect(error?.candidates == ["shop.v1.NotesService"])
  }

  @Test func decodesOnlySerializedSets() throws {
    var set = Google_Protobuf_FileDescriptorSet()
    set.file = [Self.file]
    let read = try Contract(descriptorSet: try set.serializedBytes(), reading: .lenient)
    #expect(ProtoText(contract: read).names == text.names)
    #expect(throws: (any Error).self) { try Contract(descriptorSet: [0xff, 0xff, 0xff], reading: .lenient) }
  }

  @Test func limitsNestingDepth() throws {
    var message = Google_Protobuf_DescriptorProto()
    message.name = "M"
    for _ in 0..<200 {
      var outer = Google_Protobuf_DescriptorProto()
      outer.name = "M"
      outer.nestedType = [message]
      message = outer
    }
    var file = Google_Protobuf_FileDescriptorProto()
    file.messageType = [message]
    let contract = try Contract(files: [file])
    #expect(contract.messages.count == Contract.depthMax)
    #expect(try ProtoText(contract: contract).text(of: "M").count < 1 << 16)
  }
}
