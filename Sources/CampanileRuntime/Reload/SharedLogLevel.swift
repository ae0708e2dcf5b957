public import Logging
import Synchronization

/// The least severe level that the process logs, which can be changed while it runs. Safe from any thread.
public final class SharedLogLevel: Sendable {
  private let number: Atomic<Int>
  private let configured: Mutex<Logger.Level>

  public init(_ level: Logger.Level) {
    number = Atomic(Self.number(of: level))
    configured = Mutex(level)
  }

  var level: Logger.Level { Logger.Level.allCases[number.load(ordering: .relaxed)] }

  /// Takes effect with the next message of every logger that has no level of its own.
  func set(_ level: Logger.Level) { number.store(Self.number(of: level), ordering: .relaxed) }

  /// The configuration says so. What was `set` since stays where it says what it said before.
  func configure(_ level: Logger.Level) {
    configured.withLock { configured in
      guard configured != level else { return }
      configured = level
      set(level)
    }
  }

  private static func number(of level: Logger.Level) -> Int { Logger.Level.allCases.firstIndex(of: level) ?? 0 }
}
