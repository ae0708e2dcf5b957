/// Ranges of texts in the order of their bytes, as indexes have them.
public enum TextRange {
  /// Returns a text after every text with the prefix.
  public static func end(ofPrefix prefix: String) -> String { prefix + "\u{10FFFF}" }
}
