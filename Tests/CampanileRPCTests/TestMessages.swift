import CampanileCodec

/// A message with one string and one integer, written by hand so that these tests need no generated code.
struct Note: ProtoMessage {
  static let protoFullName = "test.Note"
  var text = ""
  var count: Int32 = 0

  init() {}
  init(_ text: String, count: Int32 = 0) {
    self.text = text
    self.count = count
  }

  init(from reader: inout JSONReader) throws(ProtoJSONError) {
    var seen: UInt64 = 0
    guard try reader.beginObject() else { return }
    repeat {
      let key = try reader.key()
      switch key.count {
      case 4 where key.matches("text"):
        try reader.accept(0, &seen)
        text = try reader.string()
      case 5 where key.matches("count"):
        try reader.accept(1, &seen)
        count = try reader.int32()
      default: try reader.skipValue()
      }
    } while try reader.nextMember()
  }

  func encode(to writer: inout JSONWriter) {
    let start = writer.beginObject()
    if !text.isEmpty {
      writer.name(",\"text\":")
      writer.string(text)
    }
    if count != 0 {
      writer.name(",\"count\":")
      writer.int32(count)
    }
    writer.endObject(start)
  }
}
