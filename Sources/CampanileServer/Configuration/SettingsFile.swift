#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The JSON configuration file, an object with setting keys as members and scalars or lists as values.
enum SettingsFile {
  /// Maximum size of the file in bytes.
  static let maximumBytes = 1024 * 1024

  /// Reads and validates a file.
  ///
  /// - Returns: The values as text, by key, without `null` members.
  /// - Throws: `ConfigurationError`: `unreadableFile` if the file is not a JSON object, `unknownSetting` for an
  ///   undeclared member, `invalidValue` for a nested value, `secretOnCommandLine` for a secret.
  static func read(
    path: String, settings: [String: Setting]
  ) throws(ConfigurationError) -> [String: String] {
    let bytes = try SettingFile.read(path: path, key: "config", maximumBytes: maximumBytes, isPrivate: false)
    let members: [String: Member]
    do {
      members = try JSONDecoder().decode([String: Member].self, from: Data(bytes))
    } catch {
      throw ConfigurationError(
        code: .unreadableFile, key: "config", message: "config: \(path) does not contain a JSON object of settings")
    }
    var values: [String: String] = [:]
    // Sorted, so that the same error is reported each time if there are several.
    for (key, member) in members.sorted(by: { $0.key < $1.key }) {
      guard let setting = settings[key], key != "config" else {
        throw ConfigurationError(
          code: .unknownSetting, key: key,
          message: "unknown setting \"\(key)\" in \(path)" + Suggestion.text(for: key, among: settings.keys))
      }
      guard !setting.isSecret else {
        throw ConfigurationError(
          code: .secretOnCommandLine, key: key,
          message: "\(key) is not allowed in \(path): set \"\(key)-file\" to a file (mode 0600) "
            + "or use \(setting.environmentName)")
      }
      switch member {
      case .text(let text): values[key] = text
      case .null: break
      case .nested:
        throw ConfigurationError(
          code: .invalidValue, key: key, message: "\(key) in \(path) must be \(setting.kind.allowed), not nested JSON")
      }
    }
    return values
  }

  /// A member of the object, converted to the text of the equivalent flag.
  private enum Member: Decodable {
    case text(String)
    case null
    case nested

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
      } else if let isOn = try? container.decode(Bool.self) {
        self = .text(String(isOn))
      } else if let number = try? container.decode(Int.self) {
        self = .text(String(number))
      } else if let number = try? container.decode(Double.self) {
        self = .text(String(number))
      } else if let text = try? container.decode(String.self) {
        self = .text(text)
      } else if let words = try? container.decode([String].self), !words.contains(where: { $0.contains(",") }) {
        self = .text(words.joined(separator: ","))
      } else {
        self = .nested
      }
    }
  }
}
