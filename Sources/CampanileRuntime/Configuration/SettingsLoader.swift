import Configuration

/// Reads an executable's settings: flags over environment over the `--config` file over defaults.
public struct SettingsLoader: Sendable {
  /// What the command line asks for.
  public enum Outcome: Sendable {
    /// Run with these.
    case run(Settings)
    /// Write this text to standard output and end with 0.
    case print(String)
  }

  /// The executable's name, for example `campanile-notifications`.
  public var executable: String
  /// Every setting, the file companions of secrets and `config` included, in the order of `--help`.
  public let settings: [Setting]
  private let byKey: [String: Setting]

  /// - Parameter settings: the declared ones. When a key is declared twice the later declaration counts, so that an
  ///   executable can give a common setting its own default.
  public init(executable: String, settings: [Setting]) {
    var all: [Setting] = [.path("config", help: "JSON file of settings, below flags and environment")]
    for setting in settings {
      for declared in setting.isSecret ? [setting, setting.fileCompanion] : [setting] {
        if let index = all.firstIndex(where: { $0.key == declared.key }) {
          all[index] = declared
        } else {
          all.append(declared)
        }
      }
    }
    self.executable = executable
    self.settings = all
    self.byKey = Dictionary(all.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
  }

  /// Reads everything and checks every effective value.
  ///
  /// - Parameters:
  ///   - arguments: the command line without the program's name.
  ///   - environment: the variables; empty ones count as unset, as compose files leave them.
  /// - Throws: `ConfigurationError`; see its codes.
  public func load(arguments: [String], environment: [String: String]) throws(ConfigurationError) -> Outcome {
    let flags = try Flags(arguments, settings: byKey)
    if flags.wantsHelp { return .print(helpText()) }
    if flags.wantsVersion { return .print("\(executable) \(CampanileVersion.string)\n") }
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
      flags: flags.values, environment: environment, filePath: filePath ?? "", file: fileValues, settings: settings)
    var result = Settings()
    for setting in settings {
      result.order.append(setting.key)
      result.entries[setting.key] = try entry(for: setting, from: sources)
    }
    try readSecretFiles(into: &result)
    let declared = Set(settings.map(\.environmentName))
    result.undeclaredEnvironmentNames = environment.keys
      .filter { $0.hasPrefix(Setting.environmentPrefix) && !declared.contains($0) }.sorted()
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
      try PrivateFile.check(path: value.text, key: setting.key)
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
          message: "\(setting.environmentName) and \(companion.key) are both given; keep one")
      }
      let bytes = try PrivateFile.read(
        path: path, key: companion.key, maximumBytes: Secret.maximumBytes + 2, isPrivate: true)
      guard let value = setting.kind.parse(String(decoding: bytes, as: UTF8.self).withoutFinalNewline) else {
        throw ConfigurationError(
          code: .invalidValue, key: companion.key,
          message: "\(companion.key): \(path) must hold \(setting.kind.allowed)")
      }
      result.entries[setting.key] = Settings.Entry(setting: setting, value: value, origin: .secretFile(path: path))
    }
  }
}

extension StringProtocol {
  /// The text with control characters made visible, so that a message stays one line.
  var singleLine: String {
    String(unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7f ? "?" : Character($0) })
  }

  /// The text without the line end that editors put at a file's end.
  var withoutFinalNewline: String {
    var text = Substring(self)
    while let last = text.last, last.isNewline { text.removeLast() }
    return String(text)
  }
}
