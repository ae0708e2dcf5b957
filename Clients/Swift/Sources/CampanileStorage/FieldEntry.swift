/// The kind of a field's slot, by its letter in a table.
enum FieldKind: UInt8 {
  case bool = 98  // b
  case double = 100  // d
  case enumeration = 101  // e
  case float = 102  // f
  case int32 = 105  // i
  case int64 = 108  // l
  case message = 109  // m
  /// A list, a map, bytes, or a well-known message.
  case object = 111  // o
  case string = 115  // s
  case timestamp = 116  // t
  case uint32 = 117  // u
  case uint64 = 118  // v

  /// Whether the table has a class for the field.
  var hasClass: Bool { self == .enumeration || self == .message || self == .object }
}

/// A field in the table of a message.
struct FieldEntry {
  let kind: FieldKind
  /// Whether a default value is a value; otherwise the field is absent.
  let hasPresence: Bool
  /// The digit of the `oneof`; 0 if there is none.
  let oneof: UInt8
  /// The fields of the same `oneof`, with this one; 0 if there is none.
  var siblings: UInt64 = 0
  let type: FieldObject.Type
  let protoName: UnsafeBufferPointer<UInt8>
  /// A comma, the quoted JSON name and a colon.
  let member: UnsafeBufferPointer<UInt8>
  var jsonName: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: member[2..<(member.count - 2)]) }

  /// Reads a field's part of the text of a table, which is generated: it is valid.
  init(_ part: UnsafeBufferPointer<UInt8>, _ classes: inout ArraySlice<FieldObject.Type>) {
    guard let colon = part.firstIndex(of: UInt8(ascii: ":")), colon + 1 < part.count,
      let kind = FieldKind(rawValue: part[colon + 1])
    else { preconditionFailure("the table of a message is invalid") }
    let suffix = colon + 2 < part.count ? part[colon + 2] : 0
    self.kind = kind
    oneof = suffix == UInt8(ascii: "?") ? 0 : suffix
    hasPresence = suffix != 0 || kind == .message || kind == .timestamp
    type = kind.hasClass ? classes.removeFirst() : FieldObject.self
    protoName = UnsafeBufferPointer(rebasing: part[..<colon])
    member = Self.member(protoName)
  }

  /// Returns the JSON name of a proto's name, as protoc defines it, as the beginning of a member.
  private static func member(_ name: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    var text = Array(",\"".utf8)
    var isFirstOfWord = false
    for byte in name {
      if byte == UInt8(ascii: "_") {
        isFirstOfWord = true
      } else {
        let isLower = byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")
        text.append(isFirstOfWord && isLower ? byte - 32 : byte)
        isFirstOfWord = false
      }
    }
    text += Array("\":".utf8)
    let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.count)
    _ = copy.initialize(from: text)
    return UnsafeBufferPointer(copy)
  }
}
