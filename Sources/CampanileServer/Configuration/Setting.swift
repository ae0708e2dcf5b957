/// A declared setting of an executable, with its key, kind, default and help.
///
/// The key consists of lower-case words joined by `-`. In the service `hello`, `log-level` is the flag `--log-level`,
/// the environment variable `HELLO_LOG_LEVEL` and the member `"log-level"` of the configuration file.
public struct Setting: Sendable, Hashable {
  /// The type of a value, with its limits.
  public enum Kind: Sendable, Hashable {
    /// Text of at most `maximumBytes` UTF-8 bytes.
    case string(maximumBytes: Int)
    /// A whole number in the range.
    case int(ClosedRange<Int>)
    /// A finite number in the range.
    case double(ClosedRange<Double>)
    /// `true` or `false`. A flag without a value means `true`.
    case bool
    /// One of the listed words.
    case choice([String])
    /// At most `maximumCount` words, joined by commas or given in several flags.
    case list(maximumCount: Int)
    /// A file or folder. A private one must exist, and only its owner may have access.
    case path(isPrivate: Bool)
    /// A secret, read only from the environment or from the file in the setting `KEY-file`.
    case secret
  }

  public var key: String
  public var kind: Kind
  /// The default as users write it; nil if the setting has no default.
  public var defaultValue: String?
  /// The line for `--help`.
  public var help: String

  /// Whether the value is redacted in output.
  public var isSecret: Bool { kind == .secret }

  /// Whether the setting may be given in several flags.
  var isList: Bool {
    if case .list = kind { true } else { false }
  }

  public init(_ key: String, _ kind: Kind, default defaultValue: String? = nil, help: String) {
    self.key = key
    self.kind = kind
    self.defaultValue = defaultValue
    self.help = help
  }

  /// Declares a text setting of at most 4096 bytes.
  public static func string(_ key: String, default value: String? = nil, help: String) -> Setting {
    Setting(key, .string(maximumBytes: 4096), default: value, help: help)
  }

  /// Declares a whole number in `range`.
  public static func int(_ key: String, default value: Int? = nil, in range: ClosedRange<Int>, help: String) -> Setting
  {
    Setting(key, .int(range), default: value.map(String.init), help: help)
  }

  /// Declares a switch.
  public static func bool(_ key: String, default value: Bool = false, help: String) -> Setting {
    Setting(key, .bool, default: String(value), help: help)
  }

  /// Declares a choice of `words`.
  public static func choice(_ key: String, of words: [String], default value: String? = nil, help: String) -> Setting {
    Setting(key, .choice(words), default: value, help: help)
  }

  /// Declares a list of at most `maximumCount` words joined by commas.
  public static func list(
    _ key: String, default value: [String]? = nil, maximumCount: Int = 256, help: String
  ) -> Setting {
    Setting(key, .list(maximumCount: maximumCount), default: value?.joined(separator: ","), help: help)
  }

  /// Declares a path. With `isPrivate`, the file must exist, and group and others must have no access.
  public static func path(
    _ key: String, default value: String? = nil, isPrivate: Bool = false, help: String
  ) -> Setting {
    Setting(key, .path(isPrivate: isPrivate), default: value, help: help)
  }

  /// Declares a secret with two settings: `KEY` (environment only) and `KEY-file` (flag, environment or file).
  public static func secret(_ key: String, help: String) -> Setting {
    Setting(key, .secret, help: help)
  }

  /// The flag, for example `--log-level`.
  public var flag: String { "--" + key }

  /// The environment variable, for example `HELLO_LOG_LEVEL`.
  public var environmentName: String { environmentPrefix + key.uppercased().replacing("-", with: "_") }

  /// The beginning of the environment variable, which `SettingsLoader` sets.
  var environmentPrefix = ""

  /// The setting with the path of the secret's file.
  var fileCompanion: Setting {
    .path("\(key)-file", isPrivate: true, help: "file (mode 0600) with \(key): \(help)")
  }
}
