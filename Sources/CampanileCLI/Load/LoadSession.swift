internal import CampanileLoad
internal import Foundation
internal import UnixSignals

/// Runs a load test interactively, with a progress line. Ctrl-C ends the test early with its report.
struct LoadSession {
  var run: LoadRun
  /// Whether the progress line is shown, because standard error is a terminal.
  var isMeasuredAloud: Bool

  func report() async throws -> LoadReport {
    let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
    let run = run
    let watcher = Task {
      for await _ in signals { run.stop() }
    }
    defer { watcher.cancel() }
    let report = try await run.run { progress in
      if isMeasuredAloud { ProgressLine.show(progress) }
    }
    if isMeasuredAloud { ProgressLine.clear() }
    return report
  }
}

/// The progress line on the terminal, rewritten every second.
enum ProgressLine {
  static func text(_ progress: LoadProgress) -> String {
    let left =
      [
        progress.remainingCalls.map { "\($0) calls" }, progress.remainingMs.map { "\(($0 + 999) / 1000) s" },
      ].compactMap(\.self).joined(separator: ", ") + " left"
    if progress.isWarmingUp { return "warming up, \(left)" }
    return "\(Int(progress.callsPerSecond))/s  p50 \(progress.p50Ms) ms  p99 \(progress.p99Ms) ms  "
      + "\(progress.errors) errors of \(progress.calls)  \(left)"
  }

  static func show(_ progress: LoadProgress) { write("\r\u{1b}[2K" + text(progress)) }
  static func clear() { write("\r\u{1b}[2K") }

  private static func write(_ text: String) {
    // A closed terminal must not end the load test.
    try? Console.write(Array(text.utf8), to: STDERR_FILENO)
  }
}

/// A notice before a heavy load on another host, which may belong to other people.
enum LoadNotice {
  /// Calls per second to another host above which the notice is printed.
  static let perSecondMax = 10_000.0

  static func text(_ target: LoadTarget, rate: String?) throws -> String? {
    guard !target.isLoopback else { return nil }
    guard let rate else {
      return "sending to \(target.description) as fast as it responds, possibly more than 10000 calls per second"
    }
    let peak = try ArrivalRate(rate).peakPerSecond
    return peak > perSecondMax ? "sending up to \(Int(peak)) calls per second to \(target.description)" : nil
  }

  static func tell(_ target: LoadTarget, rate: String?) throws {
    if let text = try text(target, rate: rate) { Console.note("campanile: \(Terminal.printable(text))") }
  }
}

/// Writes reports to standard output.
struct ReportWriter {
  var form: ReportForm

  func write(_ reports: [(name: String, report: LoadReport)]) throws {
    for (_, report) in reports {
      switch form {
      case .text: for line in TextReport.lines(report) { try Console.writeLine(Terminal.printable(line)) }
      case .json: try Console.writeLine(Terminal.printableJSON(try report.json()))
      case .csv:
        try Console.write(
          Array(Terminal.printable(report.csv(), except: ["\n", "\r"]).utf8), to: STDOUT_FILENO)
      case .html: try Console.writeLine(HTMLReport.page(reports))
      }
    }
  }
}

/// Checks a report against thresholds.
enum ThresholdReport {
  /// Prints the missed thresholds to standard error.
  ///
  /// - Throws: `ThresholdsMissed` if there are any.
  static func check(_ thresholds: [Threshold], _ report: LoadReport) throws {
    let missed = thresholds.filter { !$0.isMet(by: report) }
    for threshold in missed {
      Console.note("campanile: missed \(threshold): it is \(Terminal.printable(threshold.text(of: report)))")
    }
    if !missed.isEmpty { throw ThresholdsMissed() }
  }
}

/// An error for missed thresholds of a load test; the exit code is 1.
struct ThresholdsMissed: Error {
  static let exitCode: Int32 = 1
}
