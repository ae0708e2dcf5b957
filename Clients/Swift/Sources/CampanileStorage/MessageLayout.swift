import CampanileCodec

/// Creates the table of a message, which lives as long as the process.
///
/// A function with few arguments, because each message calls it.
///
/// - Parameters:
///   - text: The full proto name and the fields, separated by spaces: `example.v1.Book title:s genre:e`. Each field
///     is the proto's name, a colon, and a letter of `FieldKind`. A question mark follows if the field has presence, or
///     the digit of its `oneof`.
///   - classes: The class of each field that has one, in the same order.
public func messageLayout(_ text: StaticString, _ classes: [FieldObject.Type]) -> MessageLayout {
  MessageLayout(text, classes)
}

/// Creates the table of a message whose fields have no classes.
public func messageLayout(_ text: StaticString) -> MessageLayout { MessageLayout(text, []) }

/// The table of a message's fields, in the order of their numbers.
public final class MessageLayout: Sendable {
  /// The full proto name.
  let name: String
  nonisolated(unsafe) let fields: UnsafePointer<FieldEntry>
  let count: Int
  /// The fields whose slots have a string, and those whose slots have an object.
  let strings: UInt64
  let objects: UInt64
  private nonisolated(unsafe) let names: UnsafePointer<NameEntry>
  /// One less than the number of `names`, which is a power of two.
  private let namesMask: Int

  /// Creates a table of `messageLayout`, whose text is generated: it is valid.
  fileprivate init(_ text: StaticString, _ classes: [FieldObject.Type]) {
    let bytes = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    let texts = bytes.split(separator: UInt8(ascii: " "))
    let parts = texts.dropFirst()
    name = String(decoding: texts.first ?? bytes[...], as: UTF8.self)
    count = parts.count
    var classes = classes[...]
    let fields = UnsafeMutablePointer<FieldEntry>.allocate(capacity: max(1, count))
    let size = parts.count * 4 < 4 ? 4 : 1 << (Int.bitWidth - (parts.count * 4 - 1).leadingZeroBitCount)
    let names = UnsafeMutablePointer<NameEntry>.allocate(capacity: size)
    names.initialize(repeating: NameEntry(), count: size)
    var strings: UInt64 = 0
    var objects: UInt64 = 0
    var members: [UInt8: UInt64] = [:]
    for (index, part) in parts.enumerated() {
      let entry = FieldEntry(UnsafeBufferPointer(rebasing: part), &classes)
      let bit: UInt64 = 1 << UInt64(index)
      if entry.kind == .string { strings |= bit }
      if entry.kind == .object || entry.kind == .message { objects |= bit }
      if entry.oneof != 0 { members[entry.oneof, default: 0] |= bit }
      (fields + index).initialize(to: entry)
      for name in [entry.jsonName, entry.protoName] {
        Self.insert(NameEntry(name, index), into: names, mask: size - 1)
      }
    }
    for index in 0..<parts.count { fields[index].siblings = members[fields[index].oneof] ?? 0 }
    self.fields = UnsafePointer(fields)
    self.names = UnsafePointer(names)
    namesMask = size - 1
    self.strings = strings
    self.objects = objects
  }

  private static func insert(_ entry: NameEntry, into names: UnsafeMutablePointer<NameEntry>, mask: Int) {
    var place = Self.hash(entry.start, entry.count) & mask
    while names[place].field >= 0 {
      // A name without underscores is both the JSON name and the proto's.
      if names[place].field == entry.field, names[place].count == entry.count { return }
      place = (place + 1) & mask
    }
    names[place] = entry
  }

  @inline(__always)
  private static func hash(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int {
    if count == 0 { return 0 }
    let first = Int(start.pointee)
    let middle = Int(start[count &>> 1])
    let last = Int(start[count &- 1])
    return (count &* 7) ^ (first &* 5) ^ (middle &* 29) ^ (last &* 13)
  }

  /// Returns the index of the field with this name, or -1.
  @inline(__always)
  func index(of name: JSONName) -> Int {
    var place = Self.hash(name.start, name.count) & namesMask
    while true {
      let entry = names + place
      if entry.pointee.field < 0 { return -1 }
      if entry.pointee.count == name.count, JSONBytes.equal(entry.pointee.start, name.start, count: name.count) {
        return entry.pointee.field
      }
      place = (place &+ 1) & namesMask
    }
  }
}

/// A name by which a field is found.
struct NameEntry {
  var start: UnsafePointer<UInt8>
  var count = 0
  /// The field's index; negative in an entry without a name.
  var field = -1

  private static let nothing: StaticString = "\0"

  init() { start = Self.nothing.utf8Start }

  init(_ name: UnsafeBufferPointer<UInt8>, _ field: Int) {
    start = name.baseAddress ?? Self.nothing.utf8Start
    count = name.count
    self.field = field
  }
}
