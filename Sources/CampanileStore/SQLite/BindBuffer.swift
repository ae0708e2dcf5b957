/// A buffer for the texts and blobs bound to one statement, reused by every run. Without it, SQLite would allocate and
/// free a copy of each.
final class BindBuffer {
  /// Larger runs let SQLite copy, so that one long value does not occupy memory permanently.
  static let sizeBytesMax = 64 << 10

  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 256, alignment: 16)
  private var usedBytes = 0

  deinit { memory.deallocate() }

  /// Clears the buffer and reserves space for a run. Returns false if the run exceeds `sizeBytesMax`.
  func begin(sizeBytes: Int) -> Bool {
    usedBytes = 0
    guard sizeBytes <= Self.sizeBytesMax else { return false }
    guard sizeBytes > memory.count else { return true }
    memory.deallocate()
    memory = .allocate(byteCount: max(sizeBytes, 2 * memory.count), alignment: 16)
    return true
  }

  /// Copies bytes into the buffer, where they stay until the next `begin`. Returns nil if they do not fit.
  func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer? {
    guard bytes.count <= memory.count - usedBytes, let start = memory.baseAddress else { return nil }
    let place = start + usedBytes
    if let source = bytes.baseAddress { place.copyMemory(from: source, byteCount: bytes.count) }
    usedBytes += bytes.count
    return UnsafeRawPointer(place)
  }
}
