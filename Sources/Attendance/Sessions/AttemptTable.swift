import CampanileBase
import CampanileStore

/// The table `login_attempts`: the entries of `LoginThrottle`, by name and origin. An entry for an address alone has no
/// name, and one for a name alone no origin.
enum AttemptTable {
  /// Maximum number of entries. `maintain` deletes those that no longer matter, then those with the oldest last
  /// attempt. The hard stop does not depend on them.
  static let rowsMax: Int64 = 10_000

  static let readSQL = """
    SELECT subject, origin, failures, last_ms, success_ms FROM login_attempts
    WHERE subject = $1 AND origin = $2 OR subject = $1 AND origin = '' OR subject = '' AND origin = $2
    """
  static let setSQL = """
    INSERT INTO login_attempts (subject, origin, failures, last_ms, success_ms, end_ms) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (subject, origin) DO UPDATE SET failures = excluded.failures, last_ms = excluded.last_ms,
      success_ms = excluded.success_ms, end_ms = excluded.end_ms
    """
  static let dropSQL = "DELETE FROM login_attempts WHERE subject = $1 AND origin = $2"
  static let dropSubjectSQL = "DELETE FROM login_attempts WHERE subject = $1"
  static let countSQL = "SELECT count(*) FROM login_attempts"
  static let purgeSQL = """
    DELETE FROM login_attempts WHERE (subject, origin) IN (
      SELECT subject, origin FROM login_attempts WHERE end_ms <= $1 ORDER BY end_ms LIMIT $2)
    """
  static let surplusSQL = """
    DELETE FROM login_attempts WHERE (subject, origin) IN (
      SELECT subject, origin FROM login_attempts WHERE last_ms >= 0 ORDER BY last_ms LIMIT $1)
    """

  /// Reads the entries that an attempt concerns.
  static func throttle(
    name: String, _ origin: LoginOrigin, in transaction: ReadTransaction
  ) throws -> LoginThrottle {
    let rows = try transaction.query(readSQL, [.text(name), .text(text(origin))]) { row in
      let key: LoginThrottle.Key? =
        if try row.text(1).isEmpty {
          .name(name)
        } else if try !row.text(0).isEmpty {
          .pair(name: name, origin)
        } else if case .address(let group) = origin { .address(group) } else { nil }
      let entry = LoginThrottle.Entry(
        failures: Int(try row.integer(2)), lastMs: try row.integer(3), successMs: try row.integerIfPresent(4))
      return (key, entry)
    }
    var entries: [LoginThrottle.Key: LoginThrottle.Entry] = [:]
    for case (let key?, let entry) in rows { entries[key] = entry }
    return LoginThrottle(entries)
  }

  /// Stores the entries that differ from `earlier`.
  static func store(
    _ throttle: LoginThrottle, replacing earlier: LoginThrottle, in transaction: WriteTransaction
  ) throws {
    for key in Set(throttle.entries.keys).union(earlier.entries.keys)
    where throttle.entries[key] != earlier.entries[key] {
      let place = place(of: key)
      if let entry = throttle.entries[key], let endMs = throttle.endMs(of: key) {
        try transaction.execute(
          setSQL,
          place + [
            .int(entry.failures), .integer(entry.lastMs), .integer(entry.successMs), .integer(endMs),
          ])
      } else {
        try transaction.execute(dropSQL, place)
      }
    }
  }

  private static func place(of key: LoginThrottle.Key) -> [SQLValue] {
    switch key {
    case .pair(let name, let origin): [.text(name), .text(text(origin))]
    case .address(let group): [.text(""), .text(text(.address(group)))]
    case .name(let name): [.text(name), .text("")]
    }
  }

  private static func text(_ origin: LoginOrigin) -> String {
    switch origin {
    case .device(let hash): "device \(Base64URL.encode(hash))"
    case .address(let group): "address \(group)"
    case .principal(let name): "principal \(name)"
    }
  }
}
