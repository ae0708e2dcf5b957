import CampanileCodec

/// The values of a message's fields: a slot of 16 bytes for each, which has a value if the field is present.
///
/// Messages that are copies of each other share it. A setter is called on storage that only one message has: a new one,
/// or the result of `uniqueStorage`.
public final class MessageStorage: FieldObject, CustomStringConvertible, @unchecked Sendable {
  unowned(unsafe) let table: MessageLayout
  let slots: UnsafeMutableRawPointer
  /// A bit for each field that is present.
  var present: UInt64 = 0

  private static let slotSize = 16

  public init(_ layout: MessageLayout) {
    table = layout
    slots = .allocate(byteCount: max(1, layout.count) * Self.slotSize, alignment: 16)
    super.init()
  }

  deinit {
    removeAll(present)
    slots.deallocate()
  }

  @inline(__always)
  func slot<T>(_ index: Int, _ type: T.Type) -> UnsafeMutablePointer<T> {
    (slots + index &* Self.slotSize).assumingMemoryBound(to: T.self)
  }

  @inline(__always)
  func start<T>(_ index: Int, _ value: consuming T) {
    (slots + index &* Self.slotSize).initializeMemory(as: T.self, to: value)
    present |= 1 &<< UInt64(truncatingIfNeeded: index)
  }

  @inline(__always)
  public func has(_ index: Int) -> Bool { present & (1 &<< UInt64(truncatingIfNeeded: index)) != 0 }

  /// Makes the fields of a mask absent.
  func removeAll(_ mask: UInt64) {
    let gone = present & mask
    for index in Bits(gone & table.strings) { slot(index, String.self).deinitialize(count: 1) }
    for index in Bits(gone & table.objects) { slot(index, FieldObject.self).deinitialize(count: 1) }
    present &= ~mask
  }

  /// Returns the storage that these bytes of a message refer to; if another message has it, a copy that replaces it.
  public static func unique(_ message: UnsafeMutableRawBufferPointer) -> MessageStorage {
    let storage = message.assumingMemoryBound(to: MessageStorage.self)
    if !isKnownUniquelyReferenced(&storage[0]) { storage[0] = storage[0].duplicate() }
    return storage[0]
  }

  private func duplicate() -> MessageStorage {
    let copy = MessageStorage(table)
    copy.slots.copyMemory(from: slots, byteCount: table.count * Self.slotSize)
    for index in Bits(present & table.strings) { copy.start(index, slot(index, String.self).pointee) }
    for index in Bits(present & table.objects) { copy.start(index, slot(index, FieldObject.self).pointee) }
    copy.present = present
    return copy
  }

  /// The fields as canonical ProtoJSON.
  public var description: String {
    var writer = JSONWriter()
    encode(to: &writer)
    return writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  override func write(to writer: inout JSONWriter) { encode(to: &writer) }
  override func isEqual(to other: FieldObject) -> Bool { equals(unsafeDowncast(other, to: MessageStorage.self)) }
  override func hash(into hasher: inout Hasher) { combine(into: &hasher) }
}

/// The indices of the bits that are set in a mask, ascending.
struct Bits: Sequence, IteratorProtocol {
  var mask: UInt64

  init(_ mask: UInt64) { self.mask = mask }

  @inline(__always)
  mutating func next() -> Int? {
    if mask == 0 { return nil }
    defer { mask &= mask &- 1 }
    return mask.trailingZeroBitCount
  }
}
