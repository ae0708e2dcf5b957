import GRDBSQLite
import Synchronization

/// SQLite's own checks of a file, with a time limit.
enum IntegrityCheck {
  /// Checks the file. Throws `corrupt` with the first faults if it is damaged.
  static func run(
    _ check: StoreConfiguration.StartupCheck, on connection: SQLiteConnection
  ) throws(StoreError) -> StartupCheckOutcome {
    switch check {
    case .none: return .skipped
    case .complete: return try run("PRAGMA integrity_check(5)", on: connection, timeLimitMs: nil)
    case .quick(let timeLimitMs): return try run("PRAGMA quick_check(5)", on: connection, timeLimitMs: timeLimitMs)
    }
  }

  private static func run(
    _ sql: String, on connection: SQLiteConnection, timeLimitMs: Int?
  ) throws(StoreError) -> StartupCheckOutcome {
    let limit = TimeLimit(timeLimitMs)
    sqlite3_progress_handler(
      connection.handle, 10_000,
      { context in
        guard let context else { return 0 }
        return Unmanaged<TimeLimit>.fromOpaque(context).takeUnretainedValue().isOver ? 1 : 0
      }, Unmanaged.passUnretained(limit).toOpaque())
    defer {
      sqlite3_progress_handler(connection.handle, 0, nil, nil)
      withExtendedLifetime(limit) {}
    }
    var faults: [String] = []
    do {
      try connection.forEachRow(sql, binding: []) { row in
        faults.append(try row.text(0))
        return true
      }
    } catch {
      let error = StoreError.from(error, path: connection.path)
      if error.code == .interrupted { return .timedOut }
      throw error
    }
    guard faults == ["ok"] else {
      throw StoreError(
        .corrupt, "the database file is damaged: \(faults.joined(separator: "; "))", path: connection.path)
    }
    return .passed
  }

  private final class TimeLimit {
    private let end: ContinuousClock.Instant?
    init(_ limitMs: Int?) { end = limitMs.map { ContinuousClock.now + .milliseconds($0) } }
    var isOver: Bool { end.map { ContinuousClock.now >= $0 } ?? false }
  }
}
