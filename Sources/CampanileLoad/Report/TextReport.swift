/// Formats a report as lines of text.
public enum TextReport {
  static let barWidth = 40

  public static func lines(_ report: LoadReport) -> [String] {
    var lines = [
      "\(report.method) at \(report.target)",
      "\(report.pace), \(report.connections) connections, \(report.threads) threads, "
        + "\(NumberText.short(report.durationMs / 1000)) s, seed \(report.seed)\(report.wasInterrupted ? ", ended early" : "")",
      "",
      "calls      \(NumberText.grouped(report.calls)), \(NumberText.grouped(Int(report.callsPerSecond.rounded())))/s",
      "errors     \(NumberText.grouped(report.errors)) (\(NumberText.percent(report.errors, of: report.calls)))",
    ]
    if report.droppedCount + report.lateCount + report.unfinishedCount > 0 {
      lines.append(
        "due, but   \(NumberText.grouped(report.lateCount)) sent late, \(NumberText.grouped(report.droppedCount)) never sent, "
          + "\(NumberText.grouped(report.unfinishedCount)) unfinished")
    }
    if report.messagesSent + report.messagesReceived > 0 {
      lines.append(
        "messages   \(NumberText.grouped(report.messagesSent)) sent, \(NumberText.grouped(report.messagesReceived)) received"
      )
    }
    lines.append("client     \(Int((report.clientCPUShare * 100).rounded())) % of its threads' time")
    lines += latency(report)
    lines += histogram(report.buckets)
    let failures = report.statuses.sorted { $0.value.calls > $1.value.calls }
    if failures.contains(where: { $0.key != "OK" }) {
      lines +=
        [""]
        + failures.map { name, failure in
          "\(pad(name, 20))\(padLeft(NumberText.grouped(failure.calls), 12))  \(failure.message ?? "")"
        }
    }
    lines += report.warnings.flatMap { ["", "warning: \($0)"] }
    return lines
  }

  private static func latency(_ report: LoadReport) -> [String] {
    guard report.calls > 0 else { return [] }
    let names = LoadReport.percentiles
    func row(_ title: String, _ latency: LoadReport.Latency) -> String {
      pad(title, 13) + padLeft(NumberText.ms(latency.meanMs), 10)
        + names.map { padLeft(NumberText.ms(latency.percentilesMs[$0] ?? 0), 10) }.joined()
        + padLeft(NumberText.ms(latency.maxMs), 10)
    }
    var lines = [
      "", pad("latency", 13) + padLeft("mean", 10) + names.map { padLeft("p" + $0, 10) }.joined() + padLeft("max", 10),
    ]
    guard let uncorrected = report.uncorrectedLatency else { return lines + [row("", report.latency)] }
    lines.append(row("from due", report.latency))
    lines.append(row("from sent", uncorrected))
    return lines
  }

  private static func histogram(_ buckets: [LoadReport.Bucket]) -> [String] {
    guard let most = buckets.map(\.calls).max(), most > 0 else { return [] }
    return [""]
      + buckets.filter { $0.calls > 0 }.map { bucket in
        let width = Double(bucket.calls) / Double(most) * Double(barWidth)
        let bar = String(repeating: "█", count: Int(width)) + (width < 1 ? "▏" : "")
        return
          "\(padLeft("≤ " + NumberText.ms(bucket.upToMs), 12)) \(padLeft(NumberText.grouped(bucket.calls), 11)) \(bar)"
      }
  }

  static func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  static func padLeft(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }
}

/// Formats numbers for text reports.
enum NumberText {
  /// Returns the digits in groups of three.
  static func grouped(_ number: Int) -> String {
    let digits = Array(String(abs(number)))
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return number < 0 ? "-" + text : text
  }

  /// Returns a time in a suitable unit: `850us`, `1.25ms`, `3.20s`.
  static func ms(_ ms: Double) -> String {
    if ms < 1 { return "\(Int((ms * 1000).rounded()))us" }
    return ms < 1000 ? "\(fixed(ms))ms" : "\(fixed(ms / 1000))s"
  }

  /// Returns the value with two decimal places.
  static func fixed(_ value: Double) -> String {
    let hundredths = Int(clamping: Int64((value * 100).rounded()))
    let rest = String(hundredths % 100)
    return "\(hundredths / 100).\(rest.count == 1 ? "0" + rest : rest)"
  }

  static func short(_ value: Double) -> String { value == value.rounded() ? String(Int(value)) : fixed(value) }

  static func percent(_ part: Int, of whole: Int) -> String {
    whole == 0 ? "0 %" : "\(fixed(Double(part) / Double(whole) * 100)) %"
  }
}
