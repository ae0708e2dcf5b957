/// The id that a gateway assigns to a call, stored inline: 33 characters of `[0-9a-f-]`.
@usableFromInline
package struct RequestID: Sendable {
  @usableFromInline var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
  @usableFromInline var last: UInt8 = 0

  /// The length of every id.
  @inlinable package static var sizeBytes: Int { 33 }

  /// Copies the first `sizeBytes` bytes of `text`, which has at least as many.
  @inlinable
  package init(_ text: UnsafeRawBufferPointer) {
    withUnsafeMutableBytes(of: &words) { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: text[..<32])) }
    last = text[32]
  }

  @usableFromInline package var text: String {
    withUnsafeBytes(of: words) { String(decoding: $0, as: UTF8.self) } + String(UnicodeScalar(last))
  }
}
