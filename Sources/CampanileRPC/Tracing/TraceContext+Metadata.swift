public import CampanileBase

extension TraceContext {
  /// Reads the context from a call's metadata; nil if it has no `traceparent`.
  public init?(_ metadata: Metadata) {
    guard let parent = metadata[Self.parentKey] else { return nil }
    self.init(parent: parent, state: metadata.values(Self.stateKey))
  }

  /// Sets the context in a call's metadata, replacing an existing one.
  public func put(into metadata: inout Metadata) {
    metadata.set(parent, for: Self.parentKey)
    if !state.isEmpty { metadata.set(state, for: Self.stateKey) }
  }
}

/// The context as the member `"traceparent":"…"` and a comma, which a gateway adds to a call's metadata.
extension TraceContext {
  private static let memberHead = Array("\"\(parentKey)\":\"".utf8)
  private static let memberSizeBytes = memberHead.count + parentSizeBytes + 2

  /// Appends the member to metadata that is being written.
  public func appendMember(to bytes: inout [UInt8]) {
    bytes.append(contentsOf: Self.memberHead)
    bytes.append(contentsOf: parent.utf8)
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ","))
  }

  /// Returns the start of the member in the beginning of a JSON object that ends with it; `nil` for any other text.
  ///
  /// A quote after a comma or a brace is outside of every string, so the match is a member.
  static func start(in text: Slice<UnsafeRawBufferPointer>) -> Int? {
    let start = text.endIndex - memberSizeBytes
    guard start > text.startIndex, text[text.endIndex - 1] == UInt8(ascii: ","),
      text[text.endIndex - 2] == UInt8(ascii: "\""),
      text[start - 1] == UInt8(ascii: ",") || text[start - 1] == UInt8(ascii: "{"),
      text[start..<start + memberHead.count].elementsEqual(memberHead),
      text[(start + memberHead.count)...].prefix(parentSizeBytes).allSatisfy(RequestID.isPlain)
    else { return nil }
    return start
  }

  /// Returns the member's value. `start` is the result of `start(in:)` for the same object.
  static func parent(_ object: UnsafeRawBufferPointer, memberAt start: Int) -> String {
    String(decoding: object[(start + memberHead.count)...].prefix(parentSizeBytes), as: UTF8.self)
  }
}
