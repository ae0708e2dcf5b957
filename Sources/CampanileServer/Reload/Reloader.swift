import CampanileBase
import Logging
import ServiceLifecycle

/// Reloads settings, certificates and keys of a running process: either all of them or none.
actor Reloader {
  /// Polling interval for files in milliseconds. A change is applied once the files are stable for this time.
  static let checkMs: Int64 = 1_000

  private var settings: Settings
  private let load: @Sendable () throws -> Settings
  private let parts: [Reloadable]
  private let logger: Logger
  private var watch: FileWatch

  /// Creates a reloader.
  ///
  /// - Parameter load: Reads and validates the settings again, from their original sources.
  init(settings: Settings, parts: [Reloadable], logger: Logger, load: @escaping @Sendable () throws -> Settings) {
    self.settings = settings
    self.parts = parts
    self.logger = logger
    self.load = load
    watch = FileWatch(FileStamp.stamps(settings.watchedFiles))
  }

  /// Reloads everything. An error leaves everything unchanged.
  ///
  /// - Returns: The keys of the changed settings.
  /// - Throws: Errors of reading the settings, `needsRestart` for a changed setting that no part can apply, and errors
  ///   of the parts.
  @discardableResult
  func reload(_ cause: String) throws -> [String] {
    do {
      let changed = try takeUp()
      logger.notice(
        "the configuration was reloaded",
        metadata: ["cause": "\(cause)", "changed": "\(changed.joined(separator: ", "))"])
      return changed
    } catch {
      logger.error(
        "the new configuration cannot be used; the previous one stays in effect",
        metadata: ["cause": "\(cause)", "error": "\(String(describing: error).singleLine)"])
      throw error
    }
  }

  private func takeUp() throws -> [String] {
    // Record the stamps before reading the files, so that a concurrent write counts as another change.
    watch.accept(FileStamp.stamps(settings.watchedFiles))
    let loaded = try load()
    let changed = loaded.changedKeys(since: settings)
    let reloadable = parts.reduce(into: Set<String>()) { $0.formUnion($1.keys) }
    let others = changed.filter { !reloadable.contains($0) }
    guard others.isEmpty else {
      throw ConfigurationError(
        code: .needsRestart, key: others[0],
        message: "\(others.joined(separator: ", ")) can be changed only by a restart")
    }
    let commits = try parts.map { try $0.prepare(loaded) }
    for commit in commits { commit() }
    if loaded.watchedFiles != settings.watchedFiles { watch.accept(FileStamp.stamps(loaded.watchedFiles)) }
    settings = loaded
    return changed
  }

  /// Reloads everything if a file has changed.
  func check() {
    guard watch.look(FileStamp.stamps(settings.watchedFiles)) else { return }
    _ = try? reload("a file has changed")
  }
}

/// Reloads on SIGHUP and after changes of files, until graceful shutdown.
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
  /// The files that are watched for changes.
  var watchedFiles: [String] {
    (["config"] + CommonConfiguration.tlsFiles).compactMap { key in
      if case .string(let path)? = entries[key]?.value { path } else { nil }
    }
  }

  /// Returns the keys whose values differ from `earlier`, in declaration order.
  func changedKeys(since earlier: Settings) -> [String] {
    order.filter { entries[$0]?.value != earlier.entries[$0]?.value }
  }
}
