/// Etags (AIP-154): opaque to callers, here the number of changes an object has seen.
enum Etag {
  static func text(version: Int64) -> String { "v\(version)" }

  /// Whether a request's etag allows the change: an empty one always does.
  static func allows(_ etag: String, version: Int64) -> Bool { etag.isEmpty || etag == text(version: version) }
}
