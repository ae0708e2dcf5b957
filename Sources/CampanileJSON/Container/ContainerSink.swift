/// A sink that validates the tokens of a text against the schema of a container.
struct ContainerSink: TokenSink {
  static var wantsContent: Bool { true }

  /// An open array or object that the schema knows.
  struct Level: Sendable, Hashable {
    /// The schema's object type of the value, or of its elements.
    var object: Int
    var isArray: Bool
    /// The fields seen so far, as a bit mask.
    var seen: UInt64 = 0
    /// The field whose value comes next or is being read; -1 for a name that is not in the schema.
    var field = -1
    /// The number of elements that have started.
    var count = 0
  }

  /// Maximum length of a date; a longer text is not a date.
  static let dateBytesMax = 40

  let container: Container
  let recordsMax: Int
  let table = ContainerSchema.table
  /// The levels around the innermost one, outermost first. The first entry is a placeholder for the level around the
  /// text.
  var outer: [Level] = []
  /// The innermost open array or object that the schema knows. Invalid while `outer` is empty.
  var inner = Level(object: 0, isArray: true)
  /// The number of open arrays and objects that the schema does not know.
  var unknownDepth = 0
  var recordCount = 0
  var syncTimestamp = ""
  private(set) var failure: ContainerError?
  /// Whether `failure` is set. A separate flag because it is read for every token, and comparing an optional error
  /// copies it.
  private var hasFailed = false
  /// The hashes of the records' ids. Two of 250,000 ids collide in one of 10^9 texts, and an attacker cannot provoke
  /// it.
  var ids = IDSet()
  /// The id of the record being read.
  var id: UInt64 = 0
  var hash = NameHash()
  var unescaper = Unescaper()
  /// The name being read.
  var name = ShortName()
  /// The date being read.
  var date = BoundedText(limit: ContainerSink.dateBytesMax)
  /// The required kind of the string being read. `sizeBytes` counts the bytes read so far.
  var kind = ContainerSchema.Kind.any
  var sizeBytes = 0
  var startOffset: Int64 = 0
  /// By object and field: the field that followed it last, both counted from 1. Usually the same field follows again.
  private var followers = [UInt8](repeating: 0, count: ContainerSchema.objectCount << 4)

  init(container: Container, recordsMax: Int) {
    self.container = container
    self.recordsMax = recordsMax
  }

  var isFinished: Bool { hasFailed }

  /// Whether the schema does not constrain the next value.
  private var isFree: Bool { unknownDepth > 0 || hasFailed }

  mutating func open(isObject: Bool, at offset: Int64) {
    if isFree {
      unknownDepth += 1
      return
    }
    let shape = begin()
    switch shape.kind {
    case .object where isObject, .array where !isObject:
      outer.append(inner)
      inner = Level(object: shape.object, isArray: !isObject)
    case .any: unknownDepth = 1
    default: fail(shape.kind, isObject ? "an object" : "an array", offset)
    }
  }

  mutating func close(isObject: Bool, at offset: Int64) {
    if isFree {
      unknownDepth -= 1
      return
    }
    if !inner.isArray { checkMembers(offset) }
    guard !hasFailed, let level = outer.popLast() else { return }
    inner = level
  }

  private mutating func checkMembers(_ offset: Int64) {
    let missing = table.required(inner.object) & ~inner.seen
    if missing != 0 {
      let name = table.name(missing.trailingZeroBitCount, of: inner.object)
      return fail(.missingMember, levelPath + "/" + name, "the member is required", offset)
    }
    guard ContainerSchema.isRecord(inner.object) else { return }
    recordCount += 1
    if recordCount > recordsMax {
      fail(.recordsExceeded, levelPath, "more than \(recordsMax) records", offset)
    } else if !ids.insert(id) {
      fail(.duplicateId, levelPath + "/id", "another record has the same id", offset)
    }
  }

  /// Counts the value that starts, and returns its shape.
  @inline(__always)
  private mutating func begin() -> ContainerSchema.Shape {
    if outer.isEmpty { return .init(kind: .object, object: ContainerSchema.root(container)) }
    if inner.isArray {
      inner.count &+= 1
      return .init(kind: .object, object: inner.object)
    }
    if inner.field < 0 { return .init(kind: .any) }
    inner.seen |= 1 &<< UInt64(inner.field)
    return table.shape(inner.field, of: inner.object)
  }

  mutating func beginString(isName: Bool, at offset: Int64) {
    kind = .any
    if isFree { return }
    if isName {
      name = ShortName()
      unescaper.reset()
      return
    }
    beginValue(begin().kind, at: offset)
  }

  private mutating func beginValue(_ wanted: ContainerSchema.Kind, at offset: Int64) {
    kind = wanted
    sizeBytes = 0
    startOffset = offset
    switch wanted {
    case .any, .string: break
    case .id:
      hash.reset()
      unescaper.reset()
    case .date: date.reset()
    default: fail(wanted, "a string", offset)
    }
  }

  /// Handles a string in one piece. Almost every string arrives in one piece and without escapes.
  @inline(__always)
  mutating func string(isName: Bool, _ bytes: UnsafeRawBufferPointer, isPlain: Bool, at offset: Int64) {
    if isFree { return }
    if isName {
      if !isPlain { return escapedName(bytes, at: offset) }
      inner.field = field(named: ShortName(bytes))
      return
    }
    let wanted = begin().kind
    switch wanted {
    case .any, .string: return
    case .date where outer.count > 1 && PlainDate.isOne(bytes): return
    default:
      beginValue(wanted, at: offset)
      if !bytes.isEmpty { stringBytes(isName: false, bytes) }
      endString(isName: false)
    }
  }

  @inline(never)
  private mutating func escapedName(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
    beginString(isName: true, at: offset)
    stringBytes(isName: true, bytes)
    endString(isName: true)
  }

  /// Returns the field of the innermost object with this name; -1 if there is none.
  @inline(__always)
  private mutating func field(named name: ShortName) -> Int {
    let place = inner.object &<< 4 | (inner.field &+ 1)
    let guess = Int(followers[place]) &- 1
    if guess >= 0, table.isName(name, of: guess, in: inner.object) { return guess }
    guard let found = table.index(of: name, in: inner.object) else { return -1 }
    followers[place] = UInt8(truncatingIfNeeded: found &+ 1)
    return found
  }

  mutating func stringBytes(isName: Bool, _ bytes: UnsafeRawBufferPointer) {
    if isFree { return }
    if isName {
      if unescaper.isIdentity(bytes) { return name.append(bytes) }
      return unescaper.feed(bytes) { name.append($0) }
    }
    sizeBytes &+= bytes.count
    if kind == .date {
      date.append(bytes)
    } else if kind == .id {
      if unescaper.isIdentity(bytes) { return hash.combine(bytes) }
      unescaper.feed(bytes) { hash.combine($0) }
    }
  }

  mutating func endString(isName: Bool) {
    if isFree { return }
    if isName {
      unescaper.finish { name.append($0) }
      inner.field = field(named: name)
    } else if kind == .id {
      if sizeBytes == 0 {
        return fail(.invalidFormat, currentPath, "an id must not be empty", startOffset)
      }
      unescaper.finish { hash.combine($0) }
      id = hash.value
    } else if kind == .date {
      guard !date.isCut, RecordTime(date.bytes) != nil else {
        return fail(
          .invalidFormat, currentPath, "a date and time like 2025-11-08T10:00:00Z is required",
          startOffset)
      }
      if outer.count == 1 { syncTimestamp = date.string }
    }
  }

  mutating func beginScalar(_ first: UInt8, at offset: Int64) {
    if isFree { return }
    let wanted = begin().kind
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
    !outer.isEmpty && !inner.isArray && inner.field >= 0
      && !table.isRequired(inner.field, of: inner.object)
  }

  private mutating func fail(_ wanted: ContainerSchema.Kind, _ found: String, _ offset: Int64) {
    let name =
      switch wanted {
      case .any: "any value"
      case .string, .id, .date: "a string"
      case .bool: "a bool"
      case .object: "an object"
      case .array: "an array"
      }
    fail(.wrongType, currentPath, "\(name) is required, found \(found)", offset)
  }

  private mutating func fail(
    _ code: ContainerError.Code, _ path: String, _ reason: String, _ offset: Int64
  ) {
    hasFailed = true
    failure = ContainerError(code, path: path, byteOffset: offset, reason: reason)
  }

  /// The path of the innermost open array or object that the schema knows.
  private var levelPath: String { path(outer.dropFirst()) }

  /// The path of the value being read, as far as the schema knows it.
  var currentPath: String { outer.isEmpty ? "" : levelPath + token(inner) }

  private func path(_ levels: ArraySlice<Level>) -> String { levels.reduce("") { $0 + token($1) } }

  private func token(_ level: Level) -> String {
    if level.isArray { return level.count > 0 ? "/\(level.count - 1)" : "" }
    return level.field >= 0 ? "/" + table.name(level.field, of: level.object) : ""
  }
}
