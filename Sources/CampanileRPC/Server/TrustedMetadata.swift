/// What the metadata of a call on a trusted link says.
struct TrustedMetadata: Sendable, Hashable {
  var metadata = Metadata()
  /// Who calls, as the peer found out.
  var principal: Principal?
}

/// The metadata that a trusted link has sent lately, read: a gateway sends the same bytes with each call of a caller, and
/// comparing them costs a tenth of reading them.
///
/// Bounded: `slotCount` texts of at most `sizeBytesMax`. Links that are not trusted have none, so that it costs what a few
/// gateways cost.
struct TrustedMetadataCache {
  static let slotCount = 256
  static let sizeBytesMax = 512

  private struct Slot {
    var text: [UInt8]
    var value: TrustedMetadata
  }

  private var slots: [Slot?] = []

  /// Reads the `metadata` member in `range` of a frame. Throws as `Metadata.init(object:_:)`.
  mutating func read(_ frame: UnsafeRawBufferPointer, _ range: Range<Int>) throws(RPCError) -> TrustedMetadata {
    guard range.count <= Self.sizeBytesMax else {
      return try Self.parse(UnsafeRawBufferPointer(rebasing: frame[range]))
    }
    let object = UnsafeRawBufferPointer(rebasing: frame[range])
    // A gateway names every call: what is the same with each call of a caller stands before the name.
    guard let end = RequestID.start(in: object) else { return try keep(object) }
    // So does a trace, which would take a place for itself and not come again.
    let trace = TraceContext.start(in: object[..<end])
    var told = try keep(UnsafeRawBufferPointer(rebasing: object[..<(trace ?? end)]), isCut: true)
    guard told.metadata[Metadata.requestIDKey] == nil else { return try Self.parse(object) }
    if let trace {
      guard told.metadata[TraceContext.parentKey] == nil else { return try Self.parse(object) }
      told.metadata.add(TraceContext.parent(object, memberAt: trace), for: TraceContext.parentKey)
    }
    told.metadata = Metadata(told.metadata, requestID: RequestID(object, memberAt: end))
    return told
  }

  /// How many texts it has.
  var count: Int { slots.count { $0 != nil } }

  /// `text` is an object, or one that was cut behind a comma or its brace.
  private mutating func keep(_ text: UnsafeRawBufferPointer, isCut: Bool = false) throws(RPCError) -> TrustedMetadata {
    let index = Self.slot(of: text)
    if slots.isEmpty { slots = Array(repeating: nil, count: Self.slotCount) }
    if let slot = slots[index], Self.isEqual(slot.text, text) { return slot.value }
    var object = Array(text)
    if isCut {
      if object.last == UInt8(ascii: ",") { object.removeLast() }
      object.append(UInt8(ascii: "}"))
    }
    let value = try Self.parse(object)
    slots[index] = Slot(text: Array(text), value: value)
    return value
  }

  private static func parse(_ object: [UInt8]) throws(RPCError) -> TrustedMetadata {
    let read = object.withUnsafeBytes { bytes in Result { () throws(RPCError) in try parse(bytes) } }
    return try read.get()
  }

  private static func parse(_ object: UnsafeRawBufferPointer) throws(RPCError) -> TrustedMetadata {
    let metadata = try Metadata(object: object, 0..<object.count)
    return TrustedMetadata(metadata: metadata, principal: Principal(trusted: metadata))
  }

  private static func isEqual(_ kept: [UInt8], _ text: UnsafeRawBufferPointer) -> Bool {
    kept.withUnsafeBytes { isEqual($0, text) }
  }

  /// By words of eight bytes, as most of it is.
  private static func isEqual(_ kept: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer) -> Bool {
    guard kept.count == text.count else { return false }
    var at = 0
    while at + 8 <= text.count {
      let words = (
        kept.loadUnaligned(fromByteOffset: at, as: UInt64.self), text.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      )
      guard words.0 == words.1 else { return false }
      at += 8
    }
    while at < text.count {
      guard kept[at] == text[at] else { return false }
      at += 1
    }
    return true
  }

  /// FNV-1a over the text in words of eight bytes: the peer is trusted, so collisions only cost time.
  private static func slot(of text: UnsafeRawBufferPointer) -> Int {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    var position = 0
    while position + 8 <= text.count {
      hash = (hash ^ text.loadUnaligned(fromByteOffset: position, as: UInt64.self)) &* 0x100_0000_01b3
      hash ^= hash >> 32
      position += 8
    }
    while position < text.count {
      hash = (hash ^ UInt64(text[position])) &* 0x100_0000_01b3
      position += 1
    }
    return Int((hash ^ (hash >> 29)) % UInt64(slotCount))
  }
}
