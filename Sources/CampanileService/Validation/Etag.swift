/// Etags (AIP-154). They are opaque to callers and contain the object's version, which counts its changes.
public enum Etag {
  public static func text(version: Int64) -> String { "v\(version)" }

  /// Returns the version inside an etag of this service, or nil for other texts.
  public static func version(_ etag: String) -> Int64? {
    guard etag.utf8.first == UInt8(ascii: "v") else { return nil }
    return Int64(etag.dropFirst())
  }

  /// Whether a request's etag allows the change; an empty one always does.
  public static func allows(_ etag: String, version: Int64) -> Bool { etag.isEmpty || etag == text(version: version) }
}
