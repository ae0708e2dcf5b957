/// The effective settings of an executable, each with its origin.
///
/// `SettingsLoader` creates and validates them. Reading a setting fails only if the executable does not declare the
/// key, or declares it with another type (`undeclaredSetting`), or if a required value is missing (`missingValue`).
public struct Settings: Sendable {
  /// The origin of a value.
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

  /// Entries by key.
  var entries: [String: Entry] = [:]
  /// Keys in declaration order.
  var order: [String] = []
  /// Variables with the executable's prefix that it does not declare. They may belong to another executable.
  public internal(set) var undeclaredEnvironmentNames: [String] = []

  /// Returns the origin of the value of `key`; `unset` for undeclared keys as well.
  public func origin(of key: String) -> Origin {
    entries[key]?.origin ?? .unset
  }

  /// Returns whether `key` has a value, which may be its default.
  public func isSet(_ key: String) -> Bool {
    entries[key]?.value != nil
  }

  /// Returns the text, choice or path of `key`; nil if unset.
  public func optionalString(_ key: String) throws(ConfigurationError) -> String? {
    switch try value(key) {
    case .string(let text): return text
    case nil: return nil
    default: throw Self.undeclared(key, "text")
    }
  }

  /// Returns the text, choice or path of `key`. Throws `missingValue` if unset.
  public func string(_ key: String) throws(ConfigurationError) -> String {
    try required(key, try optionalString(key))
  }

  /// Returns the whole number of `key`; nil if unset.
  public func optionalInt(_ key: String) throws(ConfigurationError) -> Int? {
    switch try value(key) {
    case .int(let number): return number
    case nil: return nil
    default: throw Self.undeclared(key, "whole number")
    }
  }

  /// Returns the whole number of `key`. Throws `missingValue` if unset.
  public func int(_ key: String) throws(ConfigurationError) -> Int {
    try required(key, try optionalInt(key))
  }

  /// Returns the number of `key`. Throws `missingValue` if unset.
  public func double(_ key: String) throws(ConfigurationError) -> Double {
    switch try value(key) {
    case .double(let number): return number
    case nil: return try required(key, nil)
    default: throw Self.undeclared(key, "number")
    }
  }

  /// Returns the switch of `key`. Throws `missingValue` if unset.
  public func bool(_ key: String) throws(ConfigurationError) -> Bool {
    switch try value(key) {
    case .bool(let isOn): return isOn
    case nil: return try required(key, nil)
    default: throw Self.undeclared(key, "switch")
    }
  }

  /// Returns the words of `key`; empty if unset.
  public func list(_ key: String) throws(ConfigurationError) -> [String] {
    switch try value(key) {
    case .list(let words): return words
    case nil: return []
    default: throw Self.undeclared(key, "list")
    }
  }

  /// Returns the secret of `key`; nil if neither the variable nor the file is given.
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
