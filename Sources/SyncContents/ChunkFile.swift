package import CampanileBase
import CampanileStore
import Synchronization

/// A content's file in a database. Holds at most one chunk in memory: the last one that was read or written.
package final class ChunkFile: ContentFile {
  private struct State {
    var sizeBytes: Int64
    /// The number of the chunk in memory.
    var number: Int64
    var chunk: [UInt8]
    /// Whether the chunk in memory must be stored.
    var isChanged = false
  }

  package let name: String
  private let table: any ChunkAccess
  private let nowMs: @Sendable () -> Int64
  private let state: Mutex<State>

  private init(_ name: String, _ table: any ChunkAccess, _ nowMs: @escaping @Sendable () -> Int64, _ state: State) {
    self.name = name
    self.table = table
    self.nowMs = nowMs
    self.state = Mutex(state)
  }

  /// Returns a new, empty file, which replaces one of the same name.
  ///
  /// - Parameter nowMs: The time of the last change, by which a purge finds abandoned files.
  package static func create(
    _ name: String, in table: any ChunkAccess, nowMs: @escaping @Sendable () -> Int64 = { 0 }
  ) throws(RPCError) -> ChunkFile {
    try storing { try table.change([(ChunkTable.truncateSQL, [.text(name), .integer(-1)])]) }
    return ChunkFile(name, table, nowMs, State(sizeBytes: 0, number: 0, chunk: []))
  }

  /// Opens a file; nil if it does not exist.
  package static func open(
    _ name: String, in table: any ChunkAccess, nowMs: @escaping @Sendable () -> Int64 = { 0 }
  ) throws(RPCError) -> ChunkFile? {
    let last = try storing {
      try table.query(ChunkTable.lastSQL, [.text(name)]) { row in (number: try row.integer(0), data: try row.bytes(1)) }
    }
    guard let last else { return nil }
    let sizeBytes = last.number * Int64(ChunkTable.chunkBytes) + Int64(last.data.count)
    return ChunkFile(name, table, nowMs, State(sizeBytes: sizeBytes, number: last.number, chunk: last.data))
  }

  package func sizeBytes() -> Int64 { state.withLock { $0.sizeBytes } }

  package func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(RPCError) -> Int {
    try state.withLock { state throws(RPCError) in
      var done = 0
      while done < buffer.count, offset >= 0, offset + Int64(done) < state.sizeBytes {
        let start = try load(offset + Int64(done), &state)
        let part = state.chunk.dropFirst(start).prefix(buffer.count - done)
        // A missing chunk: the reader reports what follows as damaged.
        if part.isEmpty { break }
        part.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: buffer[done...]).copyMemory(from: $0) }
        done += part.count
      }
      return done
    }
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(RPCError) {
    try state.withLock { state throws(RPCError) in
      var rest = bytes[...]
      while !rest.isEmpty {
        let place = offset + Int64(bytes.count - rest.count)
        let start = try load(place, &state)
        guard start <= state.chunk.count else { throw Self.unavailable }
        let part = rest.prefix(ChunkTable.chunkBytes - start)
        state.chunk.replaceSubrange(start..<min(start + part.count, state.chunk.count), with: part)
        state.isChanged = true
        state.sizeBytes = max(state.sizeBytes, place + Int64(part.count))
        rest = rest[part.endIndex...]
      }
    }
  }

  package func resize(_ sizeBytes: Int64) throws(RPCError) {
    try state.withLock { state throws(RPCError) in
      guard sizeBytes < state.sizeBytes else { return }
      let start = try load(sizeBytes, &state)
      state.chunk.removeLast(max(0, state.chunk.count - start))
      (state.isChanged, state.sizeBytes) = (true, sizeBytes)
      try store(&state, cuttingRest: true)
    }
  }

  package func beginWritingOut(from offset: Int64, to end: Int64) {}

  /// Also releases the memory, because an upload may wait long for its next stream.
  package func flush() throws(RPCError) {
    try state.withLock { state throws(RPCError) in
      try store(&state)
      (state.number, state.chunk) = (-1, [])
    }
  }

  package func sync() throws(RPCError) { try state.withLock { state throws(RPCError) in try store(&state) } }

  /// Loads the chunk that contains an offset, and returns the offset in it.
  private func load(_ offset: Int64, _ state: inout State) throws(RPCError) -> Int {
    let (number, start) = offset.quotientAndRemainder(dividingBy: Int64(ChunkTable.chunkBytes))
    if number != state.number {
      try store(&state)
      let chunk: [UInt8]?
      if number * Int64(ChunkTable.chunkBytes) < state.sizeBytes {
        chunk = try Self.storing {
          try table.query(ChunkTable.oneSQL, [.text(name), .integer(number)]) { try $0.bytes(0) }
        }
      } else {
        chunk = []
      }
      (state.number, state.chunk) = (number, chunk ?? [])
    }
    return Int(start)
  }

  private func store(_ state: inout State, cuttingRest: Bool = false) throws(RPCError) {
    guard state.isChanged else { return }
    var statements: [(sql: String, arguments: [SQLValue])] = [
      (ChunkTable.putSQL, [.text(name), .integer(state.number), .integer(nowMs()), .blob(state.chunk)])
    ]
    if cuttingRest { statements.append((ChunkTable.truncateSQL, [.text(name), .integer(state.number)])) }
    try Self.storing { try table.change(statements) }
    state.isChanged = false
  }

  private static func storing<T>(_ body: () throws -> T) throws(RPCError) -> T {
    do {
      return try body()
    } catch let error as RPCError {
      throw error
    } catch {
      throw (error as? any RPCErrorConvertible)?.rpcError ?? unavailable
    }
  }

  private static var unavailable: RPCError {
    RPCError(.unavailable, "cannot access a content", reason: ContentReason.contentsUnavailable)
  }
}
