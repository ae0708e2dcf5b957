/// The limits of API keys.
enum ApiKeyLimits {
  /// Scopes of a key.
  static let scopesMax = 32
  /// Bytes of a description.
  static let descriptionBytesMax = 256
  /// Keys in the database, revoked ones included. More: RESOURCE_EXHAUSTED `KEY_LIMIT`.
  static let keysMax = 100_000
  /// How long a key that was replaced still works.
  static let overlapMsDefault: Int64 = 24 * 3_600_000
  static let overlapMsMax: Int64 = 30 * 24 * 3_600_000
  static let pageSizeDefault = 50
  static let pageSizeMax = 1000
  /// Keys that ended so long ago are deleted.
  static let retentionMs: Int64 = 90 * 24 * 3_600_000
}
