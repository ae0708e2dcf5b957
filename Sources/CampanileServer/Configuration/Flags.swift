/// The command line, validated against the declared settings.
///
/// The command-line provider of swift-configuration ignores unknown flags and stray words, and splits every value at
/// commas. `--prot 80` would pass unnoticed. This parser rejects unknown arguments.
struct Flags: Sendable, Hashable {
  var wantsHelp = false
  var wantsVersion = false
  var wantsPrintConfig = false
  /// Values by key, as written.
  var values: [String: String] = [:]

  /// Parses `--key value`, `--key=value` and, for switches, `--key`. A list may be given in several flags.
  ///
  /// - Parameter arguments: The arguments, without the program's name.
  /// - Throws: `ConfigurationError`: `unknownSetting`, `unexpectedArgument`, `missingValue`, `conflictingSettings` (any
  ///   flag except a list given twice) or `secretOnCommandLine`. Messages never repeat a value, which may be a
  ///   misplaced secret.
  init(_ arguments: [String], settings: [String: Setting]) throws(ConfigurationError) {
    var index = 0
    while index < arguments.count {
      let argument = arguments[index]
      index += 1
      switch argument {
      case "--help", "-h": wantsHelp = true
      case "--version": wantsVersion = true
      case "--print-config": wantsPrintConfig = true
      default:
        let (key, inlineValue) = try Self.split(argument, position: index)
        let setting = try Self.setting(key, in: settings)
        let earlier = values[key]
        guard earlier == nil || setting.isList else {
          throw ConfigurationError(
            code: .conflictingSettings, key: key, message: "--\(key) is given more than once")
        }
        if let inlineValue {
          values[key] = inlineValue
        } else if setting.kind == .bool, index >= arguments.count || arguments[index].hasPrefix("--") {
          values[key] = "true"
        } else if index < arguments.count, !arguments[index].hasPrefix("--") {
          values[key] = arguments[index]
          index += 1
        } else {
          throw ConfigurationError(
            code: .missingValue, key: key, message: "--\(key) needs a value: \(setting.kind.allowed)")
        }
        if let earlier, let new = values[key] { values[key] = "\(earlier),\(new)" }
      }
    }
  }

  private static func split(
    _ argument: String, position: Int
  ) throws(ConfigurationError) -> (key: String, value: String?) {
    guard argument.hasPrefix("--"), argument.count > 2 else {
      throw ConfigurationError(
        code: .unexpectedArgument, key: "",
        message: "unexpected argument at position \(position): settings are given as --key value; see --help")
    }
    let body = argument.dropFirst(2)
    guard let equals = body.firstIndex(of: "=") else { return (String(body), nil) }
    return (String(body[..<equals]), String(body[body.index(after: equals)...]))
  }

  private static func setting(_ key: String, in settings: [String: Setting]) throws(ConfigurationError) -> Setting {
    guard let setting = settings[key] else {
      throw ConfigurationError(
        code: .unknownSetting, key: key,
        message: "unknown flag --\(key)" + Suggestion.text(for: key, among: settings.keys) + "; see --help")
    }
    guard !setting.isSecret else {
      throw ConfigurationError(
        code: .secretOnCommandLine, key: key,
        message: "--\(key) would show a secret in the process list: "
          + "use --\(key)-file FILE (mode 0600) or \(setting.environmentName)")
    }
    return setting
  }
}

/// Suggestions for misspelt keys.
enum Suggestion {
  /// Returns `, did you mean X?` for the nearest key within an edit distance of 2, otherwise the empty string.
  static func text(for word: String, among keys: some Sequence<String>) -> String {
    guard word.count <= 64 else { return "" }
    let nearest = keys.map { (distance(word, $0), $0) }.min { $0 < $1 }
    guard let nearest, nearest.0 <= 2 else { return "" }
    return ", did you mean \(nearest.1)?"
  }

  /// Returns the Levenshtein distance of the UTF-8 bytes.
  private static func distance(_ left: String, _ right: String) -> Int {
    let left = Array(left.utf8)
    let right = Array(right.utf8)
    var row = Array(0...right.count)
    for (i, byte) in left.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for (j, other) in right.enumerated() {
        let substituted = diagonal + (byte == other ? 0 : 1)
        diagonal = row[j + 1]
        row[j + 1] = min(substituted, row[j] + 1, row[j + 1] + 1)
      }
    }
    return row[right.count]
  }
}
