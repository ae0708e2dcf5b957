/// The first bytes of a text that arrives in pieces.
struct BoundedText: Sendable, Hashable {
  let limit: Int
  private(set) var bytes: [UInt8] = []
  /// Whether the text exceeds the limit and was truncated.
  private(set) var isCut = false

  init(limit: Int) {
    self.limit = limit
  }

  var string: String { String(decoding: bytes, as: UTF8.self) }

  mutating func reset() {
    bytes.removeAll(keepingCapacity: true)
    isCut = false
  }

  @inline(__always)
  mutating func append(_ piece: UnsafeRawBufferPointer) {
    let room = limit &- bytes.count
    if piece.count <= room {
      bytes.append(contentsOf: piece)
    } else {
      bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: piece[..<max(room, 0)]))
      isCut = true
    }
  }

  func save(to writer: inout StateWriter) {
    writer.write(bytes)
    writer.write(isCut)
  }

  init(from reader: inout StateReader, limit: Int) throws(JSONStateError) {
    self.limit = limit
    bytes = try reader.byteString(atMost: limit)
    isCut = try reader.bool()
  }
}
