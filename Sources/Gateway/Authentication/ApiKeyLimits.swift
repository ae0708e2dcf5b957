/// The limits of API keys.
enum ApiKeyLimits {
  /// Maximum number of keys in the database, including revoked ones. Beyond it: RESOURCE_EXHAUSTED `KEY_LIMIT`.
  static let keysMax = 100_000
  /// The time that a replaced key remains valid.
  static let overlapMsDefault: Int64 = 24 * 3_600_000
  static let pageSizeDefault = 50
  static let pageSizeMax = 1000
  /// Keys are deleted this long after they expired or were revoked.
  static let retentionMs: Int64 = 90 * 24 * 3_600_000
}
