/// The effective settings of an executable, each with where it came from.
///
/// Made by `SettingsLoader`; every declared setting has been checked, so reading one fails only when the code asks for
/// a key that the executable does not declare, or by another type than declared (`undeclaredSetting`).
public struct Settings: Sendable {
  /// Where a value came from.
  public enum Origin: Sendable, Hashable, CustomStringConvertible {
    case flag
    case environment(name: String)
    case file(path: String)
    case secretFile(path: String)
    case defaultValue
    case unset

    public var description: String {
      switch self {
      case .flag: "flag"
      case .environment(let name): "environment \(name)"
      case .file(let path): "file \(path)"
      case .secretFile(let path): "secret file \(path)"
      case .defaultValue: "default"
      case .unset: "unset"
      }
    }
  }

  struct Entry: Sendable {
    var setting: Setting
    var value: SettingValue?
    var origin: Origin
  }

  /// By key; the declaration's order is kept in `order`.
  var entries: [String: Entry] = [:]
  var order: [String] = []
  /// Variables with the suite's prefix that this executable does not declare: they may be another one's.
  public internal(set) var undeclaredEnvironmentNames: [String] = []

  /// Where the value of `key` came from; `unset` for undeclared keys too.
  public func origin(of key: String) -> Origin {
    entries[key]?.origin ?? .unset
  }

  /// Whether `key` has a value, its default included.
  public func isSet(_ key: String) -> Bool {
    entries[key]?.value != nil
  }

  /// The text, word of choice or path under `key`; nil when unset.
  public func optionalString(_ key: String) throws(ConfigurationError) -> String? {
    switch try value(key) {
    case .string(let text): return text
    case nil: return nil
    default: throw Self.undeclared(key, "text")
    }
  }

  /// As `optionalString`. Throws `missingValue` when unset.
  public func string(_ key: String) throws(ConfigurationError) -> String {
    try required(key, try optionalString(key))
  }

  /// The whole number under `key`; nil when unset.
  public func optionalInt(_ key: String) throws(ConfigurationError) -> Int? {
    switch try value(key) {
    case .int(let number): return number
    case nil: return nil
    default: throw Self.undeclared(key, "whole number")
    }
  }

  /// As `optionalInt`. Throws `missingValue` when unset.
  public func int(_ key: String) throws(ConfigurationError) -> Int {
    try required(key, try optionalInt(key))
  }

  /// The number under `key`. Throws `missingValue` when unset.
  public func double(_ key: String) throws(ConfigurationError) -> Double {
    switch try value(key) {
    case .double(let number): return number
    case nil: return try required(key, nil)
    default: throw Self.undeclared(key, "number")
    }
  }

  /// The switch under `key`. Throws `missingValue` when unset.
  public func bool(_ key: String) throws(ConfigurationError) -> Bool {
    switch try value(key) {
    case .bool(let isOn): return isOn
    case nil: return try required(key, nil)
    default: throw Self.undeclared(key, "switch")
    }
  }

  /// The words under `key`; empty when unset.
  public func list(_ key: String) throws(ConfigurationError) -> [String] {
    switch try value(key) {
    case .list(let words): return words
    case nil: return []
    default: throw Self.undeclared(key, "list")
    }
  }

  /// The secret under `key`; nil when neither the variable nor the file is given.
  public func secret(_ key: String) throws(ConfigurationError) -> Secret? {
    switch try value(key) {
    case .secret(let secret): return secret
    case nil: return nil
    default: throw Self.undeclared(key, "secret")
    }
  }

  private func value(_ key: String) throws(ConfigurationError) -> SettingValue? {
    guard let entry = entries[key] else { throw Self.undeclared(key, "setting") }
    return entry.value
  }

  private func required<Value>(_ key: String, _ value: Value?) throws(ConfigurationError) -> Value {
    guard let value else {
      throw ConfigurationError(
        code: .missingValue, key: key,
        message: "\(key) is required: set --\(key) or \(entries[key]?.setting.environmentName ?? "")")
    }
    return value
  }

  private static func undeclared(_ key: String, _ type: String) -> ConfigurationError {
    ConfigurationError(code: .undeclaredSetting, key: key, message: "no \(type) named \(key) is declared")
  }
}
