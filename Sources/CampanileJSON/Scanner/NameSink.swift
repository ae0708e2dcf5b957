/// Detects duplicate names in objects and reports their locations as JSON Pointers.
///
/// Stores a 64-bit keyed hash per name of the open objects, and the path of the current value. Two names with the same
/// hash would be reported as duplicates. With the maximum of 100,000 names that happens once in 10^9 texts, and it
/// cannot be provoked without the key.
struct NameSink: TokenSink {
  static var wantsContent: Bool { true }

  /// An open array or object.
  struct Level: Sendable, Hashable {
    var isObject: Bool
    /// The number of elements that have started; the current element's index is one less.
    var index = 0
    /// The current member's name, truncated.
    var name: [UInt8] = []
    /// The hashes of the object's names so far.
    var names = NameSet()
  }

  static let nameBytesMax = 64

  private let namesMax: Int
  private let duplicatesMax: Int
  /// The open levels, followed by closed ones whose memory is reused.
  private var levels: [Level] = []
  private var depth = 0
  private(set) var nameCount = 0
  private(set) var duplicates: [JSONSummary.Duplicate] = []
  private(set) var duplicateCount = 0
  private(set) var failure: JSONSyntaxError?
  private var isName = false
  private var startOffset: Int64 = 0
  private var hash: NameHash
  private var text = BoundedText(limit: NameSink.nameBytesMax)
  private var unescaper = Unescaper()

  init(limits: JSONLimits) {
    namesMax = limits.namesMax
    duplicatesMax = limits.duplicatesMax
    hash = NameHash()
  }

  var isFinished: Bool { failure != nil }

  mutating func open(isObject: Bool, at offset: Int64) {
    beginValue()
    if depth == levels.count {
      levels.append(Level(isObject: isObject))
    } else {
      levels[depth].isObject = isObject
      levels[depth].index = 0
    }
    depth += 1
  }

  mutating func close(isObject: Bool, at offset: Int64) {
    guard depth > 0 else { return }
    depth -= 1
    nameCount -= levels[depth].names.count
    levels[depth].names.removeAll()
  }

  mutating func beginString(isName: Bool, at offset: Int64) {
    self.isName = isName
    if !isName { return beginValue() }
    startOffset = offset
    hash.reset()
    text.reset()
    unescaper.reset()
  }

  mutating func stringBytes(isName: Bool, _ bytes: UnsafeRawBufferPointer) {
    if !isName { return }
    text.append(bytes)
    if unescaper.isIdentity(bytes) { return hash.combine(bytes) }
    unescaper.feed(bytes) { hash.combine($0) }
  }

  mutating func endString(isName: Bool) {
    guard isName, failure == nil, depth > 0 else { return }
    unescaper.finish { hash.combine($0) }
    let top = depth - 1
    levels[top].name = text.isCut ? text.bytes + "…".utf8 : text.bytes
    if levels[top].names.insert(hash.value) {
      nameCount += 1
      if nameCount > namesMax {
        failure = JSONSyntaxError(
          .namesExceeded, byteOffset: startOffset, expected: "no more than \(namesMax) names in open objects",
          found: "another name")
      }
      return
    }
    duplicateCount += 1
    if duplicates.count < duplicatesMax { duplicates.append(.init(path: path, byteOffset: startOffset)) }
  }

  mutating func beginScalar(_ first: UInt8, at offset: Int64) { beginValue() }
  mutating func scalarBytes(_ bytes: UnsafeRawBufferPointer) {}
  mutating func endScalar() {}

  /// Counts an element when it starts, so the current element's index is one less.
  private mutating func beginValue() {
    guard depth > 0, !levels[depth - 1].isObject else { return }
    levels[depth - 1].index += 1
  }

  private var path: String {
    var result = ""
    for level in levels.prefix(depth) {
      result += "/"
      result += level.isObject ? PathText.token(ofRawName: level.name) : String(level.index - 1)
    }
    return result
  }
}

extension NameSink {
  func save(to writer: inout StateWriter) {
    hash.save(to: &writer)
    text.save(to: &writer)
    unescaper.save(to: &writer)
    writer.write(isName)
    writer.write(UInt64(bitPattern: startOffset))
    writer.write(depth)
    for level in levels.prefix(depth) {
      writer.write(level.isObject)
      writer.write(level.index)
      writer.write(level.name)
      writer.write(level.names.hashes)
    }
    writer.write(duplicateCount)
    writer.write(duplicates.count)
    for duplicate in duplicates {
      writer.write(duplicate.path)
      writer.write(UInt64(bitPattern: duplicate.byteOffset))
    }
    writer.write(failure != nil)
    if let failure { writer.write(UInt64(bitPattern: failure.byteOffset)) }
  }

  init(from reader: inout StateReader, limits: JSONLimits, depth: Int) throws(JSONStateError) {
    self.init(limits: limits)
    hash = try NameHash(from: &reader)
    text = try BoundedText(from: &reader, limit: Self.nameBytesMax)
    unescaper = try Unescaper(from: &reader)
    isName = try reader.bool()
    startOffset = Int64(try reader.int(in: 0...Int.max))
    for _ in 0..<(try reader.int(in: depth...depth)) {
      var level = Level(isObject: try reader.bool())
      level.index = try reader.int(in: 0...Int.max / 2)
      level.name = try reader.byteString(atMost: Self.nameBytesMax + 3)
      level.names = NameSet(try reader.uint64s(atMost: Int.max))
      nameCount += level.names.count
      levels.append(level)
    }
    self.depth = depth
    duplicateCount = try reader.int(in: 0...Int.max / 2)
    for _ in 0..<(try reader.int(in: 0...min(duplicatesMax, duplicateCount))) {
      let path = try reader.string(atMost: 1 << 20)
      duplicates.append(.init(path: path, byteOffset: Int64(try reader.int(in: 0...Int.max))))
    }
    guard try reader.bool() else { return }
    failure = JSONSyntaxError(
      .namesExceeded, byteOffset: Int64(try reader.int(in: 0...Int.max)),
      expected: "no more than \(namesMax) names in open objects", found: "another name")
  }
}
