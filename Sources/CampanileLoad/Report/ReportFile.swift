internal import Foundation

extension LoadReport {
  /// Maximum size of a report in bytes.
  public static let sizeBytesMax = 64 << 20
  /// Maximum of all numbers in a report.
  private static let numberMax = 1e15

  /// Decodes a report written by `json()`.
  ///
  /// - Parameter name: The name of the report, for errors.
  /// - Throws: `LOAD_REPORT_INVALID` if the report is invalid.
  public init(json bytes: [UInt8], name: String) throws(LoadError) {
    func fail(_ reason: String) -> LoadError { LoadError(.reportInvalid, field: name, reason: reason) }
    guard bytes.count <= Self.sizeBytesMax else { throw fail("longer than \(Self.sizeBytesMax) bytes") }
    let report: LoadReport
    do {
      report = try JSONDecoder().decode(LoadReport.self, from: Data(bytes))
    } catch {
      throw fail("is not a report of a load test: \(error)")
    }
    guard report.version == Self.versionNow else {
      throw fail("has version \(report.version), but this program reads version \(Self.versionNow)")
    }
    let numbers =
      [report.durationMs, report.callsPerSecond, report.clientCPUShare]
      + [report.latency, report.uncorrectedLatency].compactMap(\.self).flatMap {
        [$0.meanMs, $0.minMs, $0.maxMs] + $0.percentilesMs.values
      }
      + report.seconds.flatMap { [$0.startMs, $0.callsPerSecond, $0.p50Ms, $0.p99Ms] }
      + report.buckets.map(\.upToMs) + report.curve.flatMap { [$0.percentile, $0.ms] }
    let counts =
      [report.calls, report.errors, report.lateCount, report.droppedCount, report.unfinishedCount]
      + [report.messagesSent, report.messagesReceived] + report.buckets.map(\.calls) + report.seconds.map(\.errors)
      + report.statuses.values.map(\.calls)
    guard numbers.allSatisfy({ (0...Self.numberMax).contains($0) }),
      counts.allSatisfy({ (0...Int(Self.numberMax)).contains($0) })
    else { throw fail("has a number that is negative or too large") }
    self = report
  }

  /// Encodes the report as a JSON object with sorted keys.
  public func json() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self))
  }

  /// Returns the report as CSV (RFC 4180) with the columns `metric,value,unit`.
  public func csv() -> String {
    var rows: [(String, String, String)] = [
      ("target", target, ""), ("method", method, ""), ("start_time", startTime, ""), ("pace", pace, ""),
      ("duration", "\(durationMs)", "ms"), ("calls", "\(calls)", ""), ("errors", "\(errors)", ""),
      ("calls_per_second", "\(callsPerSecond)", "1/s"), ("late", "\(lateCount)", ""),
      ("dropped", "\(droppedCount)", ""),
      ("unfinished", "\(unfinishedCount)", ""), ("messages_sent", "\(messagesSent)", ""),
      ("messages_received", "\(messagesReceived)", ""), ("client_cpu_share", "\(clientCPUShare)", ""),
    ]
    for (prefix, latency) in [("latency", latency), ("uncorrected_latency", uncorrectedLatency)] {
      guard let latency else { continue }
      rows.append(("\(prefix)_mean", "\(latency.meanMs)", "ms"))
      for name in Self.percentiles {
        rows.append(("\(prefix)_p\(name)", "\(latency.percentilesMs[name] ?? 0)", "ms"))
      }
      rows.append(("\(prefix)_max", "\(latency.maxMs)", "ms"))
    }
    for (name, failure) in statuses.sorted(by: { $0.key < $1.key }) {
      rows.append(("status_\(name)", "\(failure.calls)", ""))
    }
    return "metric,value,unit\r\n"
      + rows.map { "\(Self.cell($0.0)),\(Self.cell($0.1)),\(Self.cell($0.2))\r\n" }.joined()
  }

  private static func cell(_ text: String) -> String {
    text.contains { ",\"\r\n".contains($0) } ? "\"\(text.replacing("\"", with: "\"\""))\"" : text
  }
}
