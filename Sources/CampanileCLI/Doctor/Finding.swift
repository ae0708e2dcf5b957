internal import Foundation

/// What one check of `campanile doctor` found.
struct Finding: Sendable, Hashable, Codable {
  enum Severity: String, Sendable, Hashable, Codable {
    case good
    /// It works, but not for long or not for everyone.
    case warning
    /// It does not work, or is not safe.
    case bad
  }

  var severity: Severity
  /// What was looked at, such as `disk`.
  var check: String
  var detail: String
  /// What to do about it; empty where nothing needs to be done.
  var advice: String

  static func good(_ check: String, _ detail: String) -> Finding {
    Finding(severity: .good, check: check, detail: detail, advice: "")
  }

  static func warning(_ check: String, _ detail: String, do advice: String) -> Finding {
    Finding(severity: .warning, check: check, detail: detail, advice: advice)
  }

  static func bad(_ check: String, _ detail: String, do advice: String) -> Finding {
    Finding(severity: .bad, check: check, detail: detail, advice: advice)
  }
}

/// The rules of `campanile doctor`: pure functions of what was measured.
enum DoctorRules {
  /// - Parameters:
  ///   - freeBytes, totalBytes: of the file system that holds the data.
  static func disk(freeBytes: Int64, totalBytes: Int64) -> Finding {
    let detail = "\(freeBytes / 1_000_000) MB of \(totalBytes / 1_000_000) MB are free"
    if freeBytes < 200_000_000 {
      return .bad(
        "disk", detail, do: "make room now: writes are refused when it is full; docs/operations.md, a full disk")
    }
    if freeBytes < max(1_000_000_000, totalBytes / 20) {
      return .warning("disk", detail, do: "make room: remove old backups, or move the data to a larger disk")
    }
    return .good("disk", detail)
  }

  /// The mode of what only the suite may read.
  static func mode(_ path: String, mode: UInt32, owner: UInt32, user: UInt32) -> Finding? {
    let shown = "0" + String(mode & 0o7777, radix: 8)
    if mode & 0o077 != 0 {
      return .bad("file modes", "\(path) has mode \(shown): others can reach it", do: "chmod go= '\(path)'")
    }
    if owner != user, user != 0 {
      return .bad("file modes", "\(path) belongs to user \(owner), not to \(user)", do: "chown \(user) '\(path)'")
    }
    return nil
  }

  /// - Parameter isSynchronized: whether the kernel is told that something keeps the clock in step; `nil` where that is unknown.
  static func clock(isSynchronized: Bool?, nowSeconds: Int64) -> Finding {
    // No machine that runs this was set before this year.
    if nowSeconds < 1_767_225_600 {
      return .bad("clock", "the clock stands before 2026", do: "set it: Apple refuses provider tokens of another hour")
    }
    if isSynchronized == false {
      return .warning(
        "clock", "nothing keeps the clock in step",
        do: "run chrony or systemd-timesyncd: Apple refuses provider tokens that are an hour off, tokens expire by it")
    }
    return .good("clock", isSynchronized == true ? "kept in step" : "plausible")
  }

  static func wal(_ name: String, walBytes: Int64, databaseBytes: Int64) -> Finding? {
    guard walBytes > 256_000_000, walBytes > databaseBytes / 4 else { return nil }
    return .warning(
      "databases", "\(name) has a log of \(walBytes / 1_000_000) MB",
      do: "something keeps an old state open: end long backups or readers of the file, then start the service again")
  }
}
