/// Follows the tokens of a text through the schema of a container.
struct ContainerSink: TokenSink {
  static var wantsContent: Bool { true }

  /// An open array or object that the schema knows.
  struct Level: Sendable, Hashable {
    /// The object of the schema that it is, or whose elements the array has.
    var object: Int
    var isArray: Bool
    /// Which fields are there, bit by bit.
    var seen: UInt64 = 0
    /// The field whose value comes next or is being read; nil for a name that the schema does not have.
    var field: Int?
    /// The elements that have started.
    var count = 0
  }

  /// Longer names and dates are none that the schema knows.
  private static let textBytesMax = 64

  let container: Container
  let recordsMax: Int
  var levels: [Level] = []
  /// How many arrays and objects are open that the schema does not know.
  var unknownDepth = 0
  var recordCount = 0
  var syncTimestamp = ""
  private(set) var failure: ContainerError?
  /// The hashes of the records' ids.
  var ids: Set<UInt64> = []
  /// The id of the record being read.
  var id: UInt64 = 0
  var hash = NameHash()
  var text = BoundedText(limit: ContainerSink.textBytesMax)
  var unescaper = Unescaper()
  /// What the string being read must be.
  private var shape = ContainerSchema.Shape.any
  /// Whether the string's text is looked at.
  private var keepsText = false
  private var startOffset: Int64 = 0

  init(container: Container, recordsMax: Int) {
    self.container = container
    self.recordsMax = recordsMax
  }

  var isFinished: Bool { failure != nil }

  mutating func open(isObject: Bool, at offset: Int64) {
    if failure != nil { return }
    if unknownDepth > 0 {
      unknownDepth += 1
      return
    }
    switch begin() {
    case .object(let object) where isObject: levels.append(Level(object: object, isArray: false))
    case .array(let object) where !isObject: levels.append(Level(object: object, isArray: true))
    case .any: unknownDepth = 1
    case let wanted: fail(wanted, isObject ? "an object" : "an array", offset)
    }
  }

  mutating func close(isObject: Bool, at offset: Int64) {
    if failure != nil { return }
    if unknownDepth > 0 {
      unknownDepth -= 1
      return
    }
    guard let level = levels.last else { return }
    if !level.isArray { checkMembers(level, offset) }
    if failure == nil { levels.removeLast() }
  }

  private mutating func checkMembers(_ level: Level, _ offset: Int64) {
    for (index, field) in ContainerSchema.fields[level.object].enumerated()
    where field.isRequired && level.seen & (1 << UInt64(index)) == 0 {
      return fail(.missingMember, levelPath + "/" + field.name, "the member is required", offset)
    }
    guard ContainerSchema.isRecord(level.object) else { return }
    recordCount += 1
    if recordCount > recordsMax {
      fail(.recordsExceeded, levelPath, "more than \(recordsMax) records", offset)
    } else if !ids.insert(id).inserted {
      fail(.duplicateId, levelPath + "/id", "another record has the same id", offset)
    }
  }

  /// The shape of the value that starts. Counts it.
  private mutating func begin() -> ContainerSchema.Shape {
    guard let top = levels.indices.last else { return .object(ContainerSchema.root(container)) }
    if levels[top].isArray {
      levels[top].count += 1
      return .object(levels[top].object)
    }
    guard let field = levels[top].field else { return .any }
    levels[top].seen |= 1 << UInt64(field)
    return ContainerSchema.fields[levels[top].object][field].shape
  }

  mutating func beginString(isName: Bool, at offset: Int64) {
    if failure != nil || unknownDepth > 0 { return keepsText = false }
    startOffset = offset
    shape = isName ? .string : begin()
    keepsText = isName
    switch shape {
    case .any, .string: break
    case .id, .date: keepsText = true
    default: return fail(shape, "a string", offset)
    }
    guard keepsText else { return }
    text.reset()
    hash.reset()
    unescaper.reset()
  }

  mutating func stringBytes(_ bytes: UnsafeRawBufferPointer) {
    if failure != nil || unknownDepth > 0 || !keepsText { return }
    text.append(bytes)
    if case .id = shape { unescaper.feed(bytes) { hash.combine($0) } }
  }

  mutating func endString(isName: Bool) {
    if failure != nil || unknownDepth > 0 { return }
    if isName { return endName() }
    switch shape {
    case .id:
      if text.bytes.isEmpty { return fail(.invalidFormat, currentPath, "an id is not empty", startOffset) }
      unescaper.finish { hash.combine($0) }
      id = hash.value
    case .date:
      let isDate = !text.isCut && RecordTime(text.bytes) != nil
      if !isDate {
        return fail(.invalidFormat, currentPath, "a date and time like 2025-11-08T10:00:00Z is required", startOffset)
      }
      if levels.count == 1 { syncTimestamp = String(decoding: text.bytes, as: UTF8.self) }
    default: break
    }
  }

  private mutating func endName() {
    guard let top = levels.indices.last else { return }
    var name = text.bytes
    if name.contains(UInt8(ascii: "\\")) { name = JSONString(raw: text.string, isEscaped: true).bytes }
    levels[top].field = text.isCut ? nil : ContainerSchema.index(of: name, in: levels[top].object)
  }

  mutating func beginScalar(_ first: UInt8, at offset: Int64) {
    if failure != nil || unknownDepth > 0 { return }
    let wanted = begin()
    if wanted == .any { return }
    switch first {
    case UInt8(ascii: "t"), UInt8(ascii: "f"): if wanted != .bool { fail(wanted, "a bool", offset) }
    case UInt8(ascii: "n"): if !isOptional { fail(wanted, "null", offset) }
    default: fail(wanted, "a number", offset)
    }
  }

  mutating func scalarBytes(_ bytes: UnsafeRawBufferPointer) {}
  mutating func endScalar() {}

  /// Whether the value being read may be null.
  private var isOptional: Bool {
    guard let top = levels.last, !top.isArray, let field = top.field else { return false }
    return !ContainerSchema.fields[top.object][field].isRequired
  }

  private mutating func fail(_ wanted: ContainerSchema.Shape, _ found: String, _ offset: Int64) {
    let name =
      switch wanted {
      case .any: "any value"
      case .string, .id, .date: "a string"
      case .bool: "a bool"
      case .object: "an object"
      case .array: "an array"
      }
    fail(.wrongType, currentPath, "\(name) is required, \(found) is there", offset)
  }

  private mutating func fail(_ code: ContainerError.Code, _ path: String, _ reason: String, _ offset: Int64) {
    failure = ContainerError(code, path: path, byteOffset: offset, reason: reason)
  }

  /// The innermost open array or object that the schema knows.
  private var levelPath: String { path(levels.dropLast()) }

  /// The value being read, as far as the schema knows it.
  var currentPath: String { path(levels[...]) }

  private func path(_ levels: ArraySlice<Level>) -> String {
    var result = ""
    for level in levels {
      if level.isArray {
        if level.count > 0 { result += "/\(level.count - 1)" }
      } else if let field = level.field {
        result += "/" + ContainerSchema.fields[level.object][field].name
      }
    }
    return result
  }
}

extension ContainerSink {
  func save(to writer: inout StateWriter) {
    writer.write(UInt64(container == .buckets ? 0 : 1))
    writer.write(recordsMax)
    hash.save(to: &writer)
    text.save(to: &writer)
    unescaper.save(to: &writer)
    writer.write(levels.count)
    for level in levels {
      writer.write(level.object)
      writer.write(level.isArray)
      writer.write(level.seen)
      writer.write((level.field ?? -1) + 1)
      writer.write(level.count)
    }
    writer.write(unknownDepth)
    writer.write(recordCount)
    writer.write(syncTimestamp)
    writer.write(id)
    writer.write(shapeInString)
    writer.write(keepsText)
    writer.write(UInt64(bitPattern: startOffset))
    writer.write(Array(ids))
    writer.write(failure != nil)
  }

  /// What the string being read must be, as a number: names and plain strings are alike.
  private var shapeInString: Int {
    switch shape {
    case .id: 1
    case .date: 2
    default: 0
    }
  }

  init(from reader: inout StateReader, depth: Int) throws(JSONStateError) {
    let container: Container = try reader.int(in: 0...1) == 0 ? .buckets : .notifications
    self.init(container: container, recordsMax: try reader.int(in: 0...Int.max))
    hash = try NameHash(from: &reader)
    text = try BoundedText(from: &reader, limit: Self.textBytesMax)
    unescaper = try Unescaper(from: &reader)
    for _ in 0..<(try reader.int(in: 0...depth)) {
      let object = try reader.int(in: 0...(ContainerSchema.fields.count - 1))
      var level = Level(object: object, isArray: try reader.bool())
      level.seen = try reader.uint64()
      level.field = try reader.int(in: 0...ContainerSchema.fields[object].count) - 1
      if level.field == -1 { level.field = nil }
      level.count = try reader.int(in: 0...Int.max / 2)
      levels.append(level)
    }
    unknownDepth = try reader.int(in: 0...depth)
    guard levels.count + unknownDepth == depth else { throw JSONStateError() }
    recordCount = try reader.int(in: 0...recordsMax)
    syncTimestamp = try reader.string(atMost: Self.textBytesMax)
    id = try reader.uint64()
    shape = [.string, .id, .date][try reader.int(in: 0...2)]
    keepsText = try reader.bool()
    startOffset = Int64(try reader.int(in: 0...Int.max))
    ids = Set(try reader.uint64s(atMost: recordsMax))
    if try reader.bool() { throw JSONStateError() }
  }
}
