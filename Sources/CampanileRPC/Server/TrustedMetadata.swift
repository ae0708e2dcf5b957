import CampanileBase

/// The metadata of a call on a trusted connection, decoded.
struct TrustedMetadata: Sendable, Hashable {
  var metadata = Metadata()
  /// The caller, as established by the peer.
  var principal: Principal?
}

/// A cache of recently received metadata of a trusted connection. A gateway sends the same bytes with each call of a
/// caller, and comparing them costs a tenth of parsing them.
///
/// Bounded: `slotCount` texts of at most `sizeBytesMax`. Connections that are not trusted have no cache, so the memory
/// depends on the number of gateways.
struct TrustedMetadataCache {
  static let slotCount = 256
  static let sizeBytesMax = 512

  private struct Slot {
    var text: [UInt8]
    var value: TrustedMetadata
  }

  private var slots: [Slot?] = []

  /// Reads the `metadata` member in `range` of a frame.
  ///
  /// - Throws: The errors of `Metadata.init(object:_:)` and `Principal.init(trusted:)`.
  mutating func read(_ frame: UnsafeRawBufferPointer, _ range: Range<Int>) throws(RPCError) -> TrustedMetadata {
    guard range.count <= Self.sizeBytesMax else {
      return try Self.parse(UnsafeRawBufferPointer(rebasing: frame[range]))
    }
    let object = UnsafeRawBufferPointer(rebasing: frame[range])
    // A gateway assigns a request id to every call, after the part that is the same for each call of a caller.
    guard let end = RequestID.start(in: object) else { return try keep(object) }
    // A trace context is unique as well; cached, it would occupy a slot without ever matching again.
    let trace = TraceContext.start(in: object[..<end])
    var parsed = try keep(UnsafeRawBufferPointer(rebasing: object[..<(trace ?? end)]), isCut: true)
    guard parsed.metadata[Metadata.requestIDKey] == nil else { return try Self.parse(object) }
    if let trace {
      guard parsed.metadata[TraceContext.parentKey] == nil else { return try Self.parse(object) }
      parsed.metadata.add(TraceContext.parent(object, memberAt: trace), for: TraceContext.parentKey)
    }
    parsed.metadata = Metadata(parsed.metadata, requestID: RequestID(object, memberAt: end))
    return parsed
  }

  /// The number of cached texts.
  var count: Int { slots.count { $0 != nil } }

  /// Returns the decoded `text`, which is an object, or one that was cut off after a comma or its opening brace.
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
    return TrustedMetadata(metadata: metadata, principal: try Principal(trusted: metadata))
  }

  private static func isEqual(_ kept: [UInt8], _ text: UnsafeRawBufferPointer) -> Bool {
    kept.withUnsafeBytes { isEqual($0, text) }
  }

  /// Compares words of eight bytes, then the rest.
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

  /// FNV-1a over words of eight bytes: the peer is trusted, so collisions only cost time.
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
