/// Decides which metadata values are redacted.
struct LogRedactor: Sendable, Hashable {
  /// Keys that are always secret, in lower case, with `-` instead of `_`.
  static let standardKeys: Set<String> = [
    "authorization", "api-key", "apikey", "access-token", "admin-key", "campanile-internal-token", "cookie",
    "device-token", "internal-token", "password", "private-key", "push-token", "secret", "session-token", "set-cookie",
    "token",
  ]

  private let keys: Set<String>

  /// Creates a redactor.
  ///
  /// - Parameter additionalKeys: Further secret keys in any case, with `-` or `_`.
  init(additionalKeys: some Sequence<String> = []) {
    keys = Self.standardKeys.union(additionalKeys.map(Self.normalized))
  }

  /// Returns whether the value of `key` is redacted. Ignores case and treats `_`, `-` and camel case alike.
  func isSecret(_ key: String) -> Bool {
    keys.contains(Self.normalized(key))
  }

  private static func normalized(_ key: String) -> String {
    var result = ""
    var previousIsLower = false
    for scalar in key.unicodeScalars {
      let isUpper = scalar.properties.isUppercase
      if isUpper && previousIsLower { result += "-" }
      result += scalar == "_" ? "-" : String(scalar).lowercased()
      previousIsLower = scalar.properties.isLowercase
    }
    return result
  }
}
