import Configuration

/// Reads the settings of an executable.
///
/// Flags take precedence over the environment, then the `--config` file, then defaults.
struct SettingsLoader: Sendable {
  /// The action that the command line requests.
  enum Outcome: Sendable {
    /// Run with these settings.
    case run(Settings)
    /// Write this text to standard output and exit with 0.
    case print(String)
  }

  /// The executable's name, for example `campanile-notifications`.
  var executable: String
  var version: String
  let environmentPrefix: String
  /// All settings in the order of `--help`, including `config` and the file companions of secrets.
  let settings: [Setting]
  private let byKey: [String: Setting]

  /// Creates a loader.
  ///
  /// - Parameters:
  ///   - environmentPrefix: The beginning of the environment variables, with its `_`.
  ///   - settings: The declared settings. If a key is declared twice, the later declaration counts, so that an
  ///     executable can override the default of a common setting.
  init(executable: String, version: String = "", environmentPrefix: String = "CAMPANILE_", settings: [Setting]) {
    var all: [Setting] = [.path("config", help: "JSON file with settings; flags and the environment override it")]
    for setting in settings {
      for declared in setting.isSecret ? [setting, setting.fileCompanion] : [setting] {
        if let index = all.firstIndex(where: { $0.key == declared.key }) {
          all[index] = declared
        } else {
          all.append(declared)
        }
      }
    }
    for index in all.indices { all[index].environmentPrefix = environmentPrefix }
    self.executable = executable
    self.version = version
    self.environmentPrefix = environmentPrefix
    self.settings = all
    self.byKey = Dictionary(all.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
  }

  /// Reads all sources and validates the effective values.
  ///
  /// - Parameters:
  ///   - arguments: The command line, without the program's name.
  ///   - environment: The environment variables. Empty ones, as in compose files, count as unset.
  /// - Throws: `ConfigurationError`; see its codes.
  func load(arguments: [String], environment: [String: String]) throws(ConfigurationError) -> Outcome {
    let flags = try Flags(arguments, settings: byKey)
    if flags.wantsHelp { return .print(helpText()) }
    if flags.wantsVersion { return .print("\(executable) \(version)\n") }
    let environment = environment.filter { !$0.value.isEmpty }
    let settings = try resolve(flags: flags, environment: environment)
    if flags.wantsPrintConfig { return .print(settings.printed()) }
    return .run(settings)
  }

  private func resolve(flags: Flags, environment: [String: String]) throws(ConfigurationError) -> Settings {
    let configEnvironmentName = byKey["config"]?.environmentName ?? ""
    let filePath = flags.values["config"] ?? environment[configEnvironmentName]
    var fileValues: [String: String] = [:]
    if let filePath {
      fileValues = try SettingsFile.read(path: filePath, settings: byKey)
    }
    let sources = SettingsSources(
      flags: flags.values, environment: environment, filePath: filePath ?? "", file: fileValues,
      prefix: environmentPrefix, settings: settings)
    var result = Settings()
    for setting in settings {
      result.order.append(setting.key)
      result.entries[setting.key] = try entry(for: setting, from: sources)
    }
    try readSecretFiles(into: &result)
    let declared = Set(settings.map(\.environmentName))
    result.undeclaredEnvironmentNames = environment.keys
      .filter { $0.hasPrefix(environmentPrefix) && !declared.contains($0) }.sorted()
    return result
  }

  private func entry(
    for setting: Setting, from sources: SettingsSources
  ) throws(ConfigurationError) -> Settings.Entry {
    guard let (text, origin) = sources.lookUp(setting) else {
      return Settings.Entry(setting: setting, value: nil, origin: .unset)
    }
    guard let value = setting.kind.parse(text) else {
      let shown = setting.isSecret ? Secret.placeholder : "\"\(text.prefix(100).singleLine)\""
      throw ConfigurationError(
        code: .invalidValue, key: setting.key,
        message: "\(setting.key) is \(shown) (\(origin)) but must be \(setting.kind.allowed)")
    }
    if case .path(isPrivate: true) = setting.kind {
      try SettingFile.check(path: value.text, key: setting.key)
    }
    return Settings.Entry(setting: setting, value: value, origin: origin)
  }

  private func readSecretFiles(into result: inout Settings) throws(ConfigurationError) {
    for setting in settings where setting.isSecret {
      let companion = setting.fileCompanion
      guard case .string(let path)? = result.entries[companion.key]?.value else { continue }
      guard result.entries[setting.key]?.value == nil else {
        throw ConfigurationError(
          code: .conflictingSettings, key: setting.key,
          message: "\(setting.environmentName) and \(companion.key) are both given; remove one")
      }
      let bytes = try SettingFile.read(
        path: path, key: companion.key, maximumBytes: Secret.maximumBytes + 2, isPrivate: true)
      guard let value = setting.kind.parse(String(decoding: bytes, as: UTF8.self).withoutFinalNewline) else {
        throw ConfigurationError(
          code: .invalidValue, key: companion.key,
          message: "\(companion.key): \(path) must contain \(setting.kind.allowed)")
      }
      result.entries[setting.key] = Settings.Entry(setting: setting, value: value, origin: .secretFile(path: path))
    }
  }
}

extension StringProtocol {
  /// The text with control characters replaced by `?`, so that a message remains a single line.
  var singleLine: String {
    String(unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7f ? "?" : Character($0) })
  }

  /// The text without trailing newlines, which editors append to files.
  var withoutFinalNewline: String {
    var text = Substring(self)
    while let last = text.last, last.isNewline { text.removeLast() }
    return String(text)
  }
}
