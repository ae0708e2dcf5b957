internal import CampanileLoad
internal import Foundation
internal import UnixSignals

/// Runs a load test in front of a person: a line that shows how far it is, and Ctrl-C that ends it early with its report.
struct LoadSession {
  var run: LoadRun
  /// Whether the line is shown: standard error is a terminal.
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

/// The one line of a terminal that is written again every second.
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
    // A terminal that has gone away ends nothing.
    try? Console.write(Array(text.utf8), to: STDERR_FILENO)
  }
}

/// Says what is about to happen to machines of other people.
enum LoadNotice {
  /// Calls a second to another host that are worth a word.
  static let perSecondMax = 10_000.0

  static func text(_ target: LoadTarget, rate: String?) throws -> String? {
    guard !target.isLoopback else { return nil }
    guard let rate else {
      return "sending to \(target.description) as fast as it answers, which may be more than 10000 calls a second"
    }
    let peak = try ArrivalRate(rate).peakPerSecond
    return peak > perSecondMax ? "sending up to \(Int(peak)) calls a second to \(target.description)" : nil
  }

  static func tell(_ target: LoadTarget, rate: String?) throws {
    if let text = try text(target, rate: rate) { Console.note("campanile: \(text)") }
  }
}

/// Writes reports to standard output.
struct ReportWriter {
  var form: ReportForm

  func write(_ reports: [(name: String, report: LoadReport)]) throws {
    for (_, report) in reports {
      switch form {
      case .text: for line in TextReport.lines(report) { try Console.writeLine(Terminal.printable(line)) }
      case .json: try Console.writeLine(try report.json())
      case .csv: try Console.write(Array(report.csv().utf8), to: STDOUT_FILENO)
      case .html: try Console.writeLine(HTMLReport.page(reports))
      }
    }
  }
}

/// Tells which thresholds were missed.
enum ThresholdReport {
  /// Throws `ThresholdsMissed` when there is one.
  static func check(_ thresholds: [Threshold], _ report: LoadReport) throws {
    let missed = thresholds.filter { !$0.isMet(by: report) }
    for threshold in missed {
      Console.note("campanile: missed \(threshold): it is \(threshold.text(of: report))")
    }
    if !missed.isEmpty { throw ThresholdsMissed() }
  }
}

/// Thresholds of a load test were missed; the exit code is 1.
struct ThresholdsMissed: Error {
  static let exitCode: Int32 = 1
}
