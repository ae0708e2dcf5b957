internal import NIOCore

/// The `id` of a call, chosen by the caller and unique among its connection's open calls.
public enum CallID: Sendable, Hashable {
  /// At most 2^53 − 1, the largest integer that every JSON implementation represents exactly.
  case number(UInt64)
  /// At most 64 bytes of UTF-8.
  case string(String)

  /// The id as it is written in a frame: digits, or a string in quotes.
  var jsonText: String {
    var text = ByteBuffer()
    text.writeID(self)
    return String(buffer: text)
  }

  /// 2^53 − 1.
  public static let numberMax: UInt64 = 9_007_199_254_740_991
  /// The maximum length of a string id in bytes, after escapes are resolved.
  public static let stringSizeBytesMax = 64
}
