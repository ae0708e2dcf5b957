extension ContainerSink {
  func save(to writer: inout StateWriter) {
    writer.write(UInt64(container == .buckets ? 0 : 1))
    writer.write(recordsMax)
    hash.save(to: &writer)
    unescaper.save(to: &writer)
    date.save(to: &writer)
    writer.write(name.low)
    writer.write(name.high)
    writer.write(name.count)
    writer.write(UInt64(kind.rawValue))
    writer.write(sizeBytes)
    writer.write(UInt64(bitPattern: startOffset))
    writer.write(outer.count)
    for level in outer + [inner] { level.save(to: &writer) }
    writer.write(unknownDepth)
    writer.write(recordCount)
    writer.write(syncTimestamp)
    writer.write(id)
    writer.write(ids.hashes)
    writer.write(failure != nil)
  }

  init(from reader: inout StateReader, depth: Int) throws(JSONStateError) {
    let container: Container = try reader.int(in: 0...1) == 0 ? .buckets : .notifications
    self.init(container: container, recordsMax: try reader.int(in: 0...Int.max))
    hash = try NameHash(from: &reader)
    unescaper = try Unescaper(from: &reader)
    date = try BoundedText(from: &reader, limit: Self.dateBytesMax)
    let (low, high) = (try reader.uint64(), try reader.uint64())
    name = ShortName(low: low, high: high, count: try reader.int(in: 0...Int.max / 2))
    guard let kind = ContainerSchema.Kind(rawValue: try reader.byte()) else {
      throw JSONStateError()
    }
    self.kind = kind
    sizeBytes = try reader.int(in: 0...Int.max / 2)
    startOffset = Int64(try reader.int(in: 0...Int.max))
    for _ in 0..<(try reader.int(in: 0...depth)) { outer.append(try Level(from: &reader)) }
    inner = try Level(from: &reader)
    unknownDepth = try reader.int(in: 0...depth)
    guard outer.count + unknownDepth == depth else { throw JSONStateError() }
    recordCount = try reader.int(in: 0...recordsMax)
    syncTimestamp = try reader.string(atMost: Self.dateBytesMax)
    id = try reader.uint64()
    ids = IDSet(try reader.uint64s(atMost: recordsMax))
    if try reader.bool() { throw JSONStateError() }
  }
}

extension ContainerSink.Level {
  func save(to writer: inout StateWriter) {
    writer.write(object)
    writer.write(isArray)
    writer.write(seen)
    writer.write(field + 1)
    writer.write(count)
  }

  init(from reader: inout StateReader) throws(JSONStateError) {
    object = try reader.int(in: 0...(ContainerSchema.objectCount - 1))
    isArray = try reader.bool()
    seen = try reader.uint64()
    field = try reader.int(in: 0...ContainerSchema.table.count(object)) - 1
    count = try reader.int(in: 0...Int.max / 2)
  }
}
