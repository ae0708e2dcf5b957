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

  let index = DescriptorIndex(files: [Self.file])

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

  @Test func printsMessages() throws { #expect(try index.text(of: "Note") == Self.note) }

  @Test func printsServicesAndMethods() throws {
    let rpc = """
      rpc WatchNotes(Note) returns (stream Note) {
        option idempotency_level = NO_SIDE_EFFECTS;
      }
      """
    #expect(
      try index.text(of: "NotesService") == """
        service shop.v1.NotesService {
          // Watch.
          rpc WatchNotes(Note) returns (stream Note) {
            option idempotency_level = NO_SIDE_EFFECTS;
          }
        }

        """)
    #expect(
      try index.text(of: "watchnotes")
        == "// shop.v1.NotesService/WatchNotes\n// Watch.\n\(rpc)\n\n\(Self.note)\n\(Self.note)")
    #expect(try index.text(of: "State").hasPrefix("enum shop.v1.Note.State {"))
  }

  @Test func listsMethods() {
    #expect(
      index.methods == [
        KnownMethod(
          service: "shop.v1.NotesService", name: "WatchNotes", serverStreaming: true, allowsRepeat: true)
      ])
  }

  @Test func suggestsNamesForTypos() {
    let error = #expect(throws: NameError.self) { try index.text(of: "NotesServise") }
    #expect(error?.candidates == ["shop.v1.NotesService"])
  }

  @Test func decodesOnlySerializedSets() throws {
    var set = Google_Protobuf_FileDescriptorSet()
    set.file = [Self.file]
    #expect(try DescriptorIndex(serialized: try set.serializedBytes()).names == index.names)
    #expect(throws: (any Error).self) { try DescriptorIndex(serialized: [0xff, 0xff, 0xff]) }
  }

  @Test func limitsNestingDepth() {
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
    #expect(DescriptorIndex(files: [file]).messages.count == DescriptorIndex.depthMax)
  }
}
