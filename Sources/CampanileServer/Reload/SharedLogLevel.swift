import Logging
import Synchronization

/// The minimum log level of the process, which can be changed at runtime. Safe to use from any thread.
final class SharedLogLevel: Sendable {
  private let number: Atomic<Int>
  private let configured: Mutex<Logger.Level>

  init(_ level: Logger.Level) {
    number = Atomic(Self.number(of: level))
    configured = Mutex(level)
  }

  var level: Logger.Level { Logger.Level.allCases[number.load(ordering: .relaxed)] }

  /// Sets the level for the next message of every logger without an individual level.
  func set(_ level: Logger.Level) { number.store(Self.number(of: level), ordering: .relaxed) }

  /// Applies the configured level if it differs from the previous configuration. Otherwise, a level from `set` stays.
  func configure(_ level: Logger.Level) {
    configured.withLock { configured in
      guard configured != level else { return }
      configured = level
      set(level)
    }
  }

  private static func number(of level: Logger.Level) -> Int { Logger.Level.allCases.firstIndex(of: level) ?? 0 }
}
