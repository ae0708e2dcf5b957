import Logging
import ServiceLifecycle

/// Takes up new settings, certificates and keys while the process runs: all of them, or none.
actor Reloader {
  /// How often files are looked at. A change is taken up when they rest for so long.
  static let checkMs: Int64 = 1_000

  private var settings: Settings
  private let load: @Sendable () throws -> Settings
  private let parts: [Reloadable]
  private let logger: Logger
  private var watch: FileWatch

  /// - Parameter load: reads and checks the settings anew, from where the process got them.
  init(settings: Settings, parts: [Reloadable], logger: Logger, load: @escaping @Sendable () throws -> Settings) {
    self.settings = settings
    self.parts = parts
    self.logger = logger
    self.load = load
    watch = FileWatch(FileStamp.stamps(settings.watchedFiles))
  }

  /// Reads everything again. Answers the settings that have changed.
  ///
  /// Throws why nothing was changed: what reading the settings throws, `needsRestart` for a change of others than the parts take up,
  /// or what a part has against them.
  @discardableResult
  func reload(_ cause: String) throws -> [String] {
    do {
      let changed = try takeUp()
      logger.notice(
        "the configuration was read again",
        metadata: ["cause": "\(cause)", "changed": "\(changed.joined(separator: ", "))"])
      return changed
    } catch {
      logger.error(
        "the configuration was read again and cannot be used: all stays as it was",
        metadata: ["cause": "\(cause)", "error": "\(String(describing: error).singleLine)"])
      throw error
    }
  }

  private func takeUp() throws -> [String] {
    // Before the files are read: what is written meanwhile is a change.
    watch.accept(FileStamp.stamps(settings.watchedFiles))
    let loaded = try load()
    let changed = loaded.changedKeys(since: settings)
    let reloadable = parts.reduce(into: Set<String>()) { $0.formUnion($1.keys) }
    let others = changed.filter { !reloadable.contains($0) }
    guard others.isEmpty else {
      throw ConfigurationError(
        code: .needsRestart, key: others[0],
        message: "\(others.joined(separator: ", ")) can be changed by a restart alone")
    }
    let commits = try parts.map { try $0.prepare(loaded) }
    for commit in commits { commit() }
    if loaded.watchedFiles != settings.watchedFiles { watch.accept(FileStamp.stamps(loaded.watchedFiles)) }
    settings = loaded
    return changed
  }

  /// Reads everything again where a file has changed.
  func check() {
    guard watch.look(FileStamp.stamps(settings.watchedFiles)) else { return }
    _ = try? reload("a file has changed")
  }
}

/// Reloads at SIGHUP and when a file changes, until the service shuts down.
struct ReloadService: Service {
  let reloader: Reloader
  let hangups: AsyncStream<Void>

  func run() async throws {
    await cancelWhenGracefulShutdown {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { for await _ in hangups { _ = try? await reloader.reload("SIGHUP") } }
        group.addTask {
          while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(Reloader.checkMs))
            await reloader.check()
          }
        }
      }
    }
  }
}

extension Settings {
  /// The files whose change is a change of the settings.
  var watchedFiles: [String] {
    ["config", CommonSettings.tlsCertFile, CommonSettings.tlsKeyFile, CommonSettings.tlsClientCAFile].compactMap {
      key in
      if case .string(let path)? = entries[key]?.value { path } else { nil }
    }
  }

  /// The keys that have another value than in `earlier`, in the order of their declaration.
  func changedKeys(since earlier: Settings) -> [String] {
    order.filter { entries[$0]?.value != earlier.entries[$0]?.value }
  }
}
