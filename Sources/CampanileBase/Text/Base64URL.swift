/// Base64 with the URL- and filename-safe alphabet, without padding (RFC 4648 section 5).
public enum Base64URL {
  /// Encodes `bytes`: four characters for every three bytes, two or three characters for the rest.
  public static func encode(_ bytes: [UInt8]) -> String {
    let padding = (3 - bytes.count % 3) % 3
    return String(unsafeUninitializedCapacity: Base64.encodedSizeBytes(bytes.count)) { buffer in
      guard let start = buffer.baseAddress else { return 0 }
      bytes.withUnsafeBytes { Base64.encode($0, to: start) }
      let count = Base64.encodedSizeBytes(bytes.count) - padding
      for index in 0..<count {
        switch buffer[index] {
        case UInt8(ascii: "+"): buffer[index] = UInt8(ascii: "-")
        case UInt8(ascii: "/"): buffer[index] = UInt8(ascii: "_")
        default: break
        }
      }
      return count
    }
  }

  /// Decodes `text`. Each value has exactly one text, unlike with `Base64.decode`, as secrets and page tokens require.
  ///
  /// - Returns: Nil for other characters, padding, an impossible length, or set bits after the last byte.
  public static func decode(_ text: String) -> [UInt8]? {
    // The comparison rejects what the decoder tolerates: the other alphabet, padding and set bits after the last byte.
    guard let bytes = Base64.decode(text), encode(bytes) == text else { return nil }
    return bytes
  }
}
