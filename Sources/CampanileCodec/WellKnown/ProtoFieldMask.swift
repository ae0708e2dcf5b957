/// `google.protobuf.FieldMask`: field paths, in JSON one string such as `title,tapAction.value`.
public struct ProtoFieldMask: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.FieldMask" }

  /// The paths with proto names: `tap_action.value`, or `*`.
  public var paths: [String] = []

  public init() {}

  public init(paths: [String]) {
    self.paths = paths
  }

  /// Reads paths in lowerCamelCase, separated by commas. `*` alone means every field (AIP-134).
  ///
  /// - Throws: `INVALID_FORMAT` for underscores, empty paths, and characters that do not occur in field names.
  public init(from reader: inout JSONReader) throws(ProtoJSONError) {
    self = try reader.parsedString("a field mask in lowerCamelCase") { Self.parse($0) }
  }

  /// Writes the paths in lowerCamelCase. A path without such a form, such as `a__b`, is written unchanged.
  public func encode(to writer: inout JSONWriter) {
    writer.string(paths.map(Self.jsonPath).joined(separator: ","))
  }

  private static func parse(_ text: UnsafeBufferPointer<UInt8>) -> ProtoFieldMask? {
    if text.isEmpty { return .init() }
    if text.count == 1, text[0] == UInt8(ascii: "*") { return .init(paths: ["*"]) }
    var paths: [String] = []
    for part in text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
      guard !part.isEmpty, let path = protoPath(part) else { return nil }
      paths.append(path)
    }
    return .init(paths: paths)
  }

  private static func protoPath(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> String? {
    var path: [UInt8] = []
    for byte in text {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): path += [UInt8(ascii: "_"), byte | 0x20]
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
        UInt8(ascii: "("), UInt8(ascii: ")"):
        path.append(byte)
      default: return nil
      }
    }
    return String(decoding: path, as: UTF8.self)
  }

  private static func jsonPath(_ path: String) -> String {
    var result: [UInt8] = []
    var upper = false
    for byte in path.utf8 {
      let lowercase = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
      if upper, !lowercase { return path }
      if byte == UInt8(ascii: "_") {
        upper = true
      } else {
        result.append(upper ? byte & ~0x20 : byte)
        upper = false
      }
    }
    return upper ? path : String(decoding: result, as: UTF8.self)
  }
}
