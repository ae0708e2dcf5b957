/// A comparison of reports. The first report is the baseline.
public enum Comparison {
  /// Maximum number of reports.
  public static let reportsMax = 20

  /// Returns the rows of a table: a name, and for each report its value and the ratio to the baseline.
  public static func lines(_ reports: [(name: String, report: LoadReport)]) -> [String] {
    guard let first = reports.first else { return [] }
    let nameWidth = 16
    let width = max(24, (reports.map(\.name.count).max() ?? 0) + 2)
    var lines = [
      TextReport.pad("", nameWidth) + reports.map { TextReport.padLeft($0.name, width) }.joined()
    ]
    for metric in metrics {
      let base = metric.value(first.report)
      let cells = reports.enumerated().map { index, one in
        let value = metric.value(one.report)
        let ratio = index > 0 && base > 0 ? " (\(NumberText.fixed(value / base))x)" : ""
        return TextReport.padLeft(metric.text(value) + ratio, width)
      }
      lines.append(TextReport.pad(metric.name, nameWidth) + cells.joined())
    }
    return lines
  }

  struct Metric: Sendable {
    var name: String
    var value: @Sendable (LoadReport) -> Double
    var text: @Sendable (Double) -> String
  }

  static let metrics: [Metric] =
    [
      Metric(name: "calls/s", value: { $0.callsPerSecond }, text: { NumberText.grouped(Int($0.rounded())) }),
      Metric(name: "errors", value: { $0.errorShare * 100 }, text: { NumberText.fixed($0) + " %" }),
      Metric(name: "mean", value: { $0.latency.meanMs }, text: { NumberText.ms($0) }),
    ]
    + LoadReport.percentiles.map { name in
      Metric(name: "p" + name, value: { $0.latency.percentilesMs[name] ?? 0 }, text: { NumberText.ms($0) })
    }
    + [Metric(name: "max", value: { $0.latency.maxMs }, text: { NumberText.ms($0) })]
}
