#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The JSON configuration file: one object whose members are setting keys and whose values are scalars or lists.
enum SettingsFile {
  /// The longest file that is read, in bytes.
  static let maximumBytes = 1024 * 1024

  /// Reads and checks a file.
  ///
  /// - Returns: the values as text, by key; `null` members are left out.
  /// - Throws: `ConfigurationError`: `unreadableFile` when it is no JSON object, `unknownSetting` for a member that is
  ///   not declared, `invalidValue` for a nested value, `secretOnCommandLine` for a secret.
  static func read(
    path: String, settings: [String: Setting]
  ) throws(ConfigurationError) -> [String: String] {
    let bytes = try PrivateFile.read(path: path, key: "config", maximumBytes: maximumBytes, isPrivate: false)
    let members: [String: Member]
    do {
      members = try JSONDecoder().decode([String: Member].self, from: Data(bytes))
    } catch {
      throw ConfigurationError(
        code: .unreadableFile, key: "config", message: "config: \(path) does not hold a JSON object of settings")
    }
    var values: [String: String] = [:]
    // Sorted, so that of several mistakes the same one is always named.
    for (key, member) in members.sorted(by: { $0.key < $1.key }) {
      guard let setting = settings[key], key != "config" else {
        throw ConfigurationError(
          code: .unknownSetting, key: key,
          message: "unknown setting \"\(key)\" in \(path)" + Suggestion.text(for: key, among: settings.keys))
      }
      guard !setting.isSecret else {
        throw ConfigurationError(
          code: .secretOnCommandLine, key: key,
          message: "\(key) must not stand in \(path): set \"\(key)-file\" to a file (mode 0600) "
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

  /// One member of the object, already as the text a flag would hold.
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
