/// One declared setting of an executable: its key, kind, default and help.
///
/// The key is lower-case words joined by `-`: `log-level` is the flag `--log-level`, the environment variable
/// `CAMPANILE_LOG_LEVEL` and the member `"log-level"` of the configuration file.
public struct Setting: Sendable, Hashable {
  /// The type of a value, with its limits.
  public enum Kind: Sendable, Hashable {
    /// Text of at most `maximumBytes` UTF-8 bytes.
    case string(maximumBytes: Int)
    /// A whole number inside the range.
    case int(ClosedRange<Int>)
    /// A finite number inside the range.
    case double(ClosedRange<Double>)
    /// `true` or `false`; as a flag also without a value, meaning `true`.
    case bool
    /// One of the listed words.
    case choice([String])
    /// Words joined by commas, or as several flags, at most so many.
    case list(maximumCount: Int)
    /// A file or folder. A private one must exist, and nobody but its owner may have access to it.
    case path(isPrivate: Bool)
    /// A secret: taken from the environment or from the file that the setting `KEY-file` names, from nowhere else.
    case secret
  }

  public var key: String
  public var kind: Kind
  /// The default in the form a user would write it; nil when the setting is unset unless given.
  public var defaultValue: String?
  /// One line for `--help`.
  public var help: String

  /// Whether the value is kept out of every output.
  public var isSecret: Bool { kind == .secret }

  /// Whether it may be given piece by piece.
  var isList: Bool {
    if case .list = kind { true } else { false }
  }

  public init(_ key: String, _ kind: Kind, default defaultValue: String? = nil, help: String) {
    self.key = key
    self.kind = kind
    self.defaultValue = defaultValue
    self.help = help
  }

  /// A text setting of at most 4096 bytes.
  public static func string(_ key: String, default value: String? = nil, help: String) -> Setting {
    Setting(key, .string(maximumBytes: 4096), default: value, help: help)
  }

  /// A whole number inside `range`.
  public static func int(_ key: String, default value: Int? = nil, in range: ClosedRange<Int>, help: String) -> Setting
  {
    Setting(key, .int(range), default: value.map(String.init), help: help)
  }

  /// A switch.
  public static func bool(_ key: String, default value: Bool = false, help: String) -> Setting {
    Setting(key, .bool, default: String(value), help: help)
  }

  /// One of `words`.
  public static func choice(_ key: String, of words: [String], default value: String? = nil, help: String) -> Setting {
    Setting(key, .choice(words), default: value, help: help)
  }

  /// A list of at most `maximumCount` words joined by commas.
  public static func list(
    _ key: String, default value: [String]? = nil, maximumCount: Int = 256, help: String
  ) -> Setting {
    Setting(key, .list(maximumCount: maximumCount), default: value?.joined(separator: ","), help: help)
  }

  /// A path; with `isPrivate`, of an existing file whose mode gives group and others nothing.
  public static func path(
    _ key: String, default value: String? = nil, isPrivate: Bool = false, help: String
  ) -> Setting {
    Setting(key, .path(isPrivate: isPrivate), default: value, help: help)
  }

  /// A secret. Declares `KEY` (environment only) and `KEY-file` (flag, environment or file) at once.
  public static func secret(_ key: String, help: String) -> Setting {
    Setting(key, .secret, help: help)
  }

  /// The flag, for example `--log-level`.
  public var flag: String { "--" + key }

  /// The environment variable, for example `CAMPANILE_LOG_LEVEL`.
  public var environmentName: String { Self.environmentPrefix + key.uppercased().replacing("-", with: "_") }

  static let environmentPrefix = "CAMPANILE_"

  /// The setting that names the file a secret is read from.
  var fileCompanion: Setting {
    .path("\(key)-file", isPrivate: true, help: "file (mode 0600) that holds \(key): \(help)")
  }
}
