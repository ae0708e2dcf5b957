/// Memory for the texts and blobs bound to one statement while it runs, used again by its next run: SQLite would allocate
/// and free a copy of each.
final class BindBuffer {
  /// Runs that need more let SQLite copy, so that one long value does not hold its memory for good.
  static let sizeBytesMax = 64 << 10

  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 256, alignment: 16)
  private var usedBytes = 0

  deinit { memory.deallocate() }

  /// Forgets what it holds and makes room for a run. False when that is too much to be kept here.
  func begin(sizeBytes: Int) -> Bool {
    usedBytes = 0
    guard sizeBytes <= Self.sizeBytesMax else { return false }
    guard sizeBytes > memory.count else { return true }
    memory.deallocate()
    memory = .allocate(byteCount: max(sizeBytes, 2 * memory.count), alignment: 16)
    return true
  }

  /// Copies bytes, for which there must be room, to where they stay until the next `begin`. Nil without room.
  func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer? {
    guard bytes.count <= memory.count - usedBytes, let start = memory.baseAddress else { return nil }
    let place = start + usedBytes
    if let source = bytes.baseAddress { place.copyMemory(from: source, byteCount: bytes.count) }
    usedBytes += bytes.count
    return UnsafeRawPointer(place)
  }
}
