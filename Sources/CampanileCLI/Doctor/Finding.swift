internal import CampanilePostgreSQL
internal import Foundation

/// The result of a check of `campanile doctor`.
struct Finding: Sendable, Hashable, Codable {
  enum Severity: String, Sendable, Hashable, Codable {
    case good
    /// It works, but not permanently or not for everyone.
    case warning
    /// It does not work or is not secure.
    case bad
  }

  var severity: Severity
  /// Subject of the check, such as `disk`.
  var check: String
  var detail: String
  /// The remedy; empty if none is needed.
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

/// The rules of `campanile doctor`, as pure functions of measured values.
enum DoctorRules {
  /// Judges the free space of the file system that contains the data folder.
  static func disk(freeBytes: Int64, totalBytes: Int64) -> Finding {
    let detail = "\(freeBytes / 1_000_000) MB of \(totalBytes / 1_000_000) MB are free"
    if freeBytes < 200_000_000 {
      return .bad(
        "disk", detail, do: "free space now: a full disk rejects writes; see docs/operations.md, a full disk")
    }
    if freeBytes < max(1_000_000_000, totalBytes / 20) {
      return .warning("disk", detail, do: "free space: remove old backups, or move the data to a larger disk")
    }
    return .good("disk", detail)
  }

  /// Judges the mode and owner of a file that only the suite may read.
  static func mode(_ path: String, mode: UInt32, owner: UInt32, user: UInt32) -> Finding? {
    let shown = "0" + String(mode & 0o7777, radix: 8)
    if mode & 0o077 != 0 {
      return .bad("file modes", "\(path) has mode \(shown): others can access it", do: "chmod go= '\(path)'")
    }
    if owner != user, user != 0 {
      return .bad("file modes", "\(path) belongs to user \(owner), not to \(user)", do: "chown \(user) '\(path)'")
    }
    return nil
  }

  /// Judges the standbys of a PostgreSQL server.
  static func standbys(_ standbys: [ServerReport.Standby]) -> [Finding] {
    guard !standbys.isEmpty else {
      return [
        .warning(
          "replication", "the server has no standby: its loss loses the data",
          do: "add a synchronous standby; see docs/postgresql.md")
      ]
    }
    var findings = standbys.map { standby in
      let detail = "\(standby.name) is \(standby.state ?? "hidden"), \(standby.lagBytes / 1_000_000) MB behind"
      if standby.state != nil, !standby.isReplaying {
        return Finding.warning("replication", detail, do: "check the standby's log, its disk and the network")
      }
      return .good("replication", detail)
    }
    if !standbys.contains(where: \.isSynchronous), standbys.contains(where: { $0.state != nil }) {
      findings.append(
        .warning(
          "replication", "no standby is synchronous: the loss of the server loses the last writes",
          do: "set synchronous_standby_names"))
    }
    let replayingCount = standbys.count(where: \.isReplaying)
    if standbys.contains(where: \.isSynchronous), replayingCount < 2 {
      let detail =
        replayingCount == 0
        ? "no standby replays the log, so writes may wait" : "one standby replays the log; without it, writes wait"
      findings.append(
        .warning("replication", detail, do: "add a second standby; see docs/scaling.md, a standby is missing"))
    }
    return findings
  }

  /// Judges background work that no process does.
  static func vacancies(_ vacancies: [ServerReport.Vacancy], database: String) -> [Finding] {
    vacancies.filter { $0.sinceMs > 5_000 }.map { vacancy in
      .warning(
        "leases", "\(database): no process has done the work of \(vacancy.name) for \(vacancy.sinceMs / 1_000) s",
        do: "start the service, or look into its log; see docs/scaling.md, a lease without a holder")
    }
  }

  /// Judges the clock against that of the server.
  static func serverClock(skewMs: Int64) -> Finding {
    let detail = "differs by \(abs(skewMs)) ms from the server's"
    guard abs(skewMs) > 1_000 else { return .good("server clock", detail) }
    return .warning(
      "server clock", detail, do: "run chrony or systemd-timesyncd on both; see docs/scaling.md, clocks that differ")
  }

  /// Judges the system clock.
  ///
  /// - Parameter isSynchronized: Whether the kernel considers the clock synchronized; nil if unknown.
  static func clock(isSynchronized: Bool?, nowSeconds: Int64) -> Finding {
    // The start of 2026, which is older than this program.
    if nowSeconds < 1_767_225_600 {
      return .bad(
        "clock", "the clock is set to a time before 2026",
        do: "set it: Apple rejects provider tokens from another hour")
    }
    if isSynchronized == false {
      return .warning(
        "clock", "the clock is not synchronized",
        do: "run chrony or systemd-timesyncd: Apple rejects provider tokens that are an hour off")
    }
    return .good("clock", isSynchronized == true ? "synchronized" : "plausible")
  }

  static func wal(_ name: String, walBytes: Int64, databaseBytes: Int64) -> Finding? {
    guard walBytes > 256_000_000, walBytes > databaseBytes / 4 else { return nil }
    return .warning(
      "databases", "the write-ahead log of \(name) has \(walBytes / 1_000_000) MB",
      do: "a reader holds an old snapshot: end long backups or other readers of the file, then restart the service")
  }
}
