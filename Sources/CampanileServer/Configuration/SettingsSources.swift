import Configuration
import Synchronization

/// The four sources of values, as swift-configuration providers behind one `ConfigReader`.
///
/// All of them provide text, so that a single parser validates values from every source.
struct SettingsSources {
  private static let flagsName = "flags"
  private static let fileName = "file"
  private static let defaultsName = "defaults"

  private let reader: ConfigReader
  private let reporter = LastProvider()
  private let filePath: String

  init(
    flags: [String: String], environment: [String: String], filePath: String, file: [String: String],
    prefix: String, settings: [Setting]
  ) {
    let defaults = settings.compactMap { setting in setting.defaultValue.map { (setting.key, $0) } }
    self.filePath = filePath
    reader = ConfigReader(
      providers: [
        Self.provider(Self.flagsName, flags),
        EnvironmentVariablesProvider(environmentVariables: environment, secretsSpecifier: .all)
          .prefixKeys(with: ConfigKey([prefix.dropLast().lowercased()])),
        Self.provider(Self.fileName, file),
        Self.provider(Self.defaultsName, Dictionary(defaults, uniquingKeysWith: { $1 })),
      ],
      accessReporter: reporter)
  }

  /// Returns the text from the first source that has one, and its origin; nil if no source has a value.
  func lookUp(_ setting: Setting) -> (text: String, origin: Settings.Origin)? {
    // Mark every value as secret: swift-configuration can log accesses, and none of these values must be logged.
    guard let text = reader.string(forKey: ConfigKey([setting.key]), isSecret: true) else { return nil }
    let name = reporter.name
    let origin: Settings.Origin =
      if name.contains("[\(Self.flagsName)]") {
        .flag
      } else if name.contains("[\(Self.fileName)]") {
        .file(path: filePath)
      } else if name.contains("[\(Self.defaultsName)]") {
        .defaultValue
      } else {
        .environment(name: setting.environmentName)
      }
    return (text, origin)
  }

  private static func provider(_ name: String, _ values: [String: String]) -> InMemoryProvider {
    let pairs = values.map { (AbsoluteConfigKey([$0.key]), ConfigValue(.string($0.value), isSecret: true)) }
    return InMemoryProvider(name: name, values: Dictionary(pairs, uniquingKeysWith: { $1 }))
  }
}

/// Records the provider of the last accessed value, which swift-configuration passes only to reporters.
private final class LastProvider: AccessReporter {
  private let state = Mutex("")

  var name: String { state.withLock { $0 } }

  func report(_ event: AccessEvent) {
    let answering = event.providerResults.last { result in
      if case .success(let lookup) = result.result { lookup.value != nil } else { false }
    }
    state.withLock { $0 = answering?.providerName ?? "" }
  }
}
