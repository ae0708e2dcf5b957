/// The head of a long frame: the members of its request that arrived before the rest.
struct FrameHead {
  private(set) var id: CallID?
  /// The method's name with its escapes resolved.
  private(set) var method: String?
  private(set) var metadata: Metadata?
  /// Whether the frame is not a single request with a readable head.
  private(set) var isUnreadable = false

  /// Whether method and metadata have arrived.
  var isComplete: Bool { method != nil && metadata != nil }

  /// Reads the first bytes of a frame. Members after the first incomplete one are ignored.
  init(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.first(where: { $0 > 0x20 }) else { return }
    guard start == UInt8(ascii: "{"), var members = JSONObjectReader(bytes, 0..<bytes.count) else {
      isUnreadable = true
      return
    }
    while !isComplete || id == nil, !isUnreadable, let member = members.next() { take(member, bytes) }
  }

  private mutating func take(_ member: JSONObjectReader.Member, _ bytes: UnsafeRawBufferPointer) {
    switch member.name {
    case "id": id = EnvelopeScanner.callID(bytes, member.value)
    case "method":
      method = JSONObjectReader.string(bytes, member.value)
      isUnreadable = method == nil
    case "metadata":
      do { metadata = try Metadata(object: bytes, member.value) } catch { isUnreadable = true }
    default: break
    }
  }
}
