internal import Foundation

/// Formats one or several reports as a self-contained HTML page, without scripts or external resources.
public enum HTMLReport {
  /// Returns a page with at most `Comparison.reportsMax` reports. The names label the plots.
  public static func page(_ reports: [(name: String, report: LoadReport)]) -> String {
    let shown = reports.prefix(Comparison.reportsMax)
    let title = shown.first.map { "\($0.report.method) at \($0.report.target)" } ?? "load test"
    let latency = SVGPlot(
      title: "Latency by percentile", xLabel: "percentile", yLabel: "ms",
      xScale: .nines, yScale: .logarithm,
      series: shown.map { name, report in
        .init(name: name, points: report.curve.map { ($0.percentile, $0.ms) })
      })
    let rate = SVGPlot(
      title: "Calls per second over time", xLabel: "s", yLabel: "1/s", xScale: .linear, yScale: .linear,
      series: shown.map { name, report in
        .init(name: name, points: report.seconds.map { ($0.startMs / 1000, $0.callsPerSecond) })
      })
    let slow = SVGPlot(
      title: "p99 over time", xLabel: "s", yLabel: "ms", xScale: .linear, yScale: .logarithm,
      series: shown.map { name, report in
        .init(name: name, points: report.seconds.map { ($0.startMs / 1000, $0.p99Ms) })
      })
    let texts = shown.map { name, report in
      "<h2>\(escaped(name))</h2><pre>\(escaped(TextReport.lines(report).joined(separator: "\n")))</pre>"
    }
    let table =
      shown.count > 1
      ? "<h2>Side by side</h2><pre>\(escaped(Comparison.lines(Array(shown)).joined(separator: "\n")))</pre>" : ""
    return """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><title>\(escaped(title))</title>
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <style>
      body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
      pre { background: #f5f5f5; padding: 1rem; overflow-x: auto; line-height: 1.25 }
      svg { width: 100%; height: auto } svg text { font: 12px system-ui, sans-serif; fill: currentColor }
      @media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd } pre { background: #242424 } }
      </style></head><body>
      <h1>\(escaped(title))</h1>
      \(table)
      \(latency.svg())
      \(rate.svg())
      \(slow.svg())
      \(texts.joined(separator: "\n"))
      </body></html>

      """
  }

  static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;")
  }
}
