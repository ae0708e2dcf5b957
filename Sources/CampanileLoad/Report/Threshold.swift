/// A condition on a report, such as `p99<5ms`.
public struct Threshold: Sendable, Hashable, CustomStringConvertible {
  enum Metric: Sendable, Hashable {
    case percentile(String)
    case mean, maximum
    /// Share of failed, dropped and unfinished calls, 0 to 1.
    case errors
    case rate
    case dropped
    case late
  }

  enum Comparison: String, Sendable, Hashable {
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
  }

  let metric: Metric
  let comparison: Comparison
  /// The limit in the metric's unit: milliseconds, a share, calls per second, or calls.
  let limit: Double
  public let description: String

  /// Maximum number of conditions in a list.
  static let countMax = 50

  /// Parses a comma-separated list of conditions.
  ///
  /// - `p50`, `p75`, `p90`, `p95`, `p99`, `p99.9`, `p99.99`, `mean` and `max` take a time (`us`, `ms`, `s`).
  /// - `errors` takes a share (`0.1%` or `0.001`).
  /// - `rate` takes calls per second, `dropped` and `late` a number of calls.
  ///
  /// - Throws: `LOAD_THRESHOLD_INVALID` for any other text.
  public static func list(_ text: String) throws(LoadError) -> [Threshold] {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    guard parts.count <= countMax else {
      throw LoadError(.thresholdInvalid, field: "--threshold", reason: "more than \(countMax) conditions")
    }
    var list: [Threshold] = []
    for part in parts { list.append(try Threshold(String(part).filter { $0 != " " })) }
    return list
  }

  init(_ text: String) throws(LoadError) {
    func fail(_ reason: String) -> LoadError {
      LoadError(.thresholdInvalid, field: "--threshold", reason: "\(text.debugDescription) \(reason)")
    }
    guard let start = text.firstIndex(where: { $0 == "<" || $0 == ">" }) else {
      throw fail("has none of < <= > >=")
    }
    var end = text.index(after: start)
    if end < text.endIndex, text[end] == "=" { end = text.index(after: end) }
    guard let comparison = Comparison(rawValue: String(text[start..<end])) else { throw fail("has no comparison") }
    self.comparison = comparison
    let name = String(text[..<start])
    guard let metric = Self.metric(name) else {
      throw fail("has no known metric (p50 to p99.99, mean, max, errors, rate, dropped or late)")
    }
    self.metric = metric
    guard let limit = Self.limit(String(text[end...]), of: metric) else {
      throw fail("has no valid limit for \(name)")
    }
    self.limit = limit
    description = text
  }

  private static func metric(_ name: String) -> Metric? {
    switch name {
    case "mean": .mean
    case "max": .maximum
    case "errors": .errors
    case "rate": .rate
    case "dropped": .dropped
    case "late": .late
    default:
      name.hasPrefix("p") && LoadReport.percentiles.contains(String(name.dropFirst()))
        ? .percentile(String(name.dropFirst())) : nil
    }
  }

  private static func limit(_ text: String, of metric: Metric) -> Double? {
    func number(_ digits: some StringProtocol, times factor: Double) -> Double? {
      guard let value = Double(digits), value.isFinite, value >= 0 else { return nil }
      return value * factor
    }
    switch metric {
    case .percentile, .mean, .maximum:
      for (unit, factor) in [("us", 0.001), ("ms", 1.0), ("s", 1000.0)] where text.hasSuffix(unit) {
        return number(text.dropLast(unit.count), times: factor)
      }
      return nil
    case .errors: return text.hasSuffix("%") ? number(text.dropLast(), times: 0.01) : number(text, times: 1)
    case .rate, .dropped, .late: return number(text, times: 1)
    }
  }

  /// Returns the metric's value in a report.
  public func value(in report: LoadReport) -> Double {
    switch metric {
    case .percentile(let name): report.latency.percentilesMs[name] ?? 0
    case .mean: report.latency.meanMs
    case .maximum: report.latency.maxMs
    case .errors: report.errorShare
    case .rate: report.callsPerSecond
    case .dropped: Double(report.droppedCount)
    case .late: Double(report.lateCount)
    }
  }

  /// Returns the metric's value in a report as text with its unit.
  public func text(of report: LoadReport) -> String {
    let value = value(in: report)
    return switch metric {
    case .percentile, .mean, .maximum: report.calls == 0 ? "unknown, because no call has ended" : NumberText.ms(value)
    case .errors: NumberText.fixed(value * 100) + " %"
    case .rate: NumberText.fixed(value) + "/s"
    case .dropped, .late: NumberText.grouped(Int(value))
    }
  }

  /// Returns whether the report meets the condition. Without calls, no latency condition is met.
  public func isMet(by report: LoadReport) -> Bool {
    switch metric {
    case .percentile, .mean, .maximum: if report.calls == 0 { return false }
    default: break
    }
    let value = value(in: report)
    return switch comparison {
    case .less: value < limit
    case .lessOrEqual: value <= limit
    case .greater: value > limit
    case .greaterOrEqual: value >= limit
    }
  }
}
