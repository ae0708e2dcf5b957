/// Etags (AIP-154): opaque to callers, here the number of changes an object has seen.
public enum Etag {
  public static func text(version: Int64) -> String { "v\(version)" }

  /// The version inside of an etag that this service made; nil for other texts.
  public static func version(_ etag: String) -> Int64? {
    guard etag.utf8.first == UInt8(ascii: "v") else { return nil }
    return Int64(etag.dropFirst())
  }

  /// Whether a request's etag allows the change: an empty one always does.
  public static func allows(_ etag: String, version: Int64) -> Bool { etag.isEmpty || etag == text(version: version) }
}
