/// Maps a rolling hash to the positions of blocks in a base.
struct BlockIndex {
  static let entriesMax = 1 << 19
  /// Maximum number of slots that a search visits. A block that finds no free slot is not indexed.
  private static let probesMax = 8
  private static let factor: UInt64 = 0x9E37_79B9_7F4A_7C15

  let blockBytes: Int
  /// The factor by which the first byte of a block contributes to its hash.
  private let leadFactor: UInt64
  private let shift: UInt64
  /// The upper half of a hash in the upper 32 bits, the block's number plus one in the lower ones; 0 marks a free slot.
  private let slots: [UInt64]

  /// Indexes `base`; nil if it is shorter than one block.
  init?(_ base: UnsafeRawBufferPointer) {
    var blockBytes = 16
    while base.count / blockBytes > Self.entriesMax { blockBytes *= 2 }
    guard base.count >= blockBytes else { return nil }
    self.blockBytes = blockBytes
    var lead: UInt64 = 1
    for _ in 1..<blockBytes { lead = lead &* Self.factor }
    leadFactor = lead
    let blocks = base.count / blockBytes
    var bits: UInt64 = 4
    while 1 << bits < blocks * 2 { bits += 1 }
    let shift = 64 - bits
    self.shift = shift
    var slots = [UInt64](repeating: 0, count: 1 << bits)
    for block in 0..<blocks {
      let hash = Self.hash(base, block * blockBytes, blockBytes)
      let entry = hash & 0xFFFF_FFFF_0000_0000 | UInt64(block + 1)
      var slot = Int(Self.mixed(hash) >> shift)
      var same = 0
      for _ in 0..<Self.probesMax {
        if slots[slot] == 0 {
          slots[slot] = entry
          break
        }
        if slots[slot] >> 32 == hash >> 32 { same += 1 }
        // A few equal blocks are enough: more would only fill the table.
        if same == 4 { break }
        slot = (slot + 1) & (slots.count - 1)
      }
    }
    self.slots = slots
  }

  private static func mixed(_ hash: UInt64) -> UInt64 { (hash ^ hash >> 29) &* 0xBF58_476D_1CE4_E5B9 }

  private static func hash(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ count: Int) -> UInt64 {
    var hash: UInt64 = 0
    for index in start..<(start + count) { hash = hash &* factor &+ UInt64(bytes[index]) &+ 1 }
    return hash
  }

  /// The hash of the block at `start`.
  func hash(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> UInt64 { Self.hash(bytes, start, blockBytes) }

  /// The hash of the block that starts one byte later.
  @inline(__always)
  func rolled(_ hash: UInt64, out: UInt8, in next: UInt8) -> UInt64 {
    (hash &- (UInt64(out) &+ 1) &* leadFactor) &* Self.factor &+ UInt64(next) &+ 1
  }

  /// Calls `body` with the start of each block that probably has this hash.
  @inline(__always)
  func forEach(_ hash: UInt64, _ body: (Int) -> Void) {
    var slot = Int(Self.mixed(hash) >> shift)
    for _ in 0..<Self.probesMax {
      let entry = slots[slot]
      if entry == 0 { return }
      if entry >> 32 == hash >> 32 { body((Int(entry & 0xFFFF_FFFF) - 1) * blockBytes) }
      slot = (slot + 1) & (slots.count - 1)
    }
  }
}
