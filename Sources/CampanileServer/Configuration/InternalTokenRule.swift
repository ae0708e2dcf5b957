/// The length rule for the internal token.
///
/// A client that receives a server's proof can guess the token offline, so a short token is not secure.
enum InternalTokenRule {
  static let length = 32...4096

  /// Checks the length of the token, or of each line if there are several tokens.
  ///
  /// - Throws: `ConfigurationError` `invalidValue` if a token is too short or too long.
  static func check(_ settings: Settings) throws(ConfigurationError) {
    let key = CommonConfiguration.internalToken
    guard settings.isSet(key), let secret = try settings.secret(key) else { return }
    for (index, line) in secret.reveal().split(whereSeparator: \.isNewline).enumerated() {
      let count = line.utf8.count
      guard !length.contains(count) else { continue }
      let origin = settings.origin(of: key)
      let file = if case .secretFile(let path) = origin { path } else { "FILE" }
      throw ConfigurationError(
        code: .invalidValue, key: key,
        message: "\(key) (\(origin), line \(index + 1)) must have \(length.lowerBound) to \(length.upperBound) bytes, "
          + "not \(count): create one for all services with (umask 077; openssl rand -hex 32 > \(file.singleLine))"
      )
    }
  }
}
