import Foundation
import Histogram
import Testing

@testable import CampanileLoad

/// Thresholds, report formats and comparisons.
@Suite struct ReportTests {
  static func sample(_ change: (inout LoadRecord) -> Void = { _ in }) -> LoadReport {
    var plan = LoadPlan()
    plan.pace = .open(.constant(100), .uniform)
    var record = LoadRecord()
    for n in 1...1_000 {
      record.ended(
        status: n == 1_000 ? 14 : 0, dueNs: 0, sentNs: Int64(n) * 500, nowNs: Int64(n) * 10_000, isOpenLoop: true)
      record.endedInTime(nowNs: Int64(n) * 10_000)
    }
    record.note("<script>\"x\" & y", status: 14)
    change(&record)
    var builder = ReportBuilder(
      plan: plan,
      target: LoadTarget(
        transport: .http(HTTPTarget(host: "127.0.0.1", port: 80)), method: "a.B/C,\"d\""),
      startTime: Date(timeIntervalSince1970: 0))
    var interval = LoadInterval()
    interval.ended(status: 0, latencyNs: 5_000_000)
    builder.add(interval, startS: 0, endS: 1)
    builder.add(record)
    builder.measuredS = 1
    return builder.report()
  }

  @Test func reportContainsRecordedValues() {
    let report = Self.sample()
    #expect(report.calls == 1_000 && report.errors == 1 && report.callsPerSecond == 1_000)
    #expect(report.statuses["OK"]?.calls == 999 && report.statuses["UNAVAILABLE"]?.calls == 1)
    for (name, ms) in [("50", 5.0), ("90", 9), ("99", 9.9), ("99.9", 9.99)] {
      #expect(abs((report.latency.percentilesMs[name] ?? 0) - ms) <= ms * 0.002)
    }
    #expect(abs(report.latency.maxMs - 10) <= 0.02)
    #expect(abs((report.uncorrectedLatency?.maxMs ?? 0) - 9.5) <= 0.02)
    #expect(report.buckets.reduce(0) { $0 + $1.calls } == 1_000)
    #expect(report.curve.last?.percentile == 100)
    #expect(report.seconds.count == 1)
  }

  @Test(arguments: [
    ("p50<6ms", true), ("p50<5000us", false), ("p99.9<=0.01s", true), ("max>9ms", true), ("mean>=6ms", false),
    ("errors<0.2%", true), ("errors<=0.001", true), ("errors<0.1%", false), ("rate>=1000", true), ("rate>1000", false),
    ("dropped<1", true), ("late<=0", true),
  ])
  func thresholdsAreChecked(_ text: String, _ isMet: Bool) throws {
    #expect(try Threshold.list(text).map { $0.isMet(by: Self.sample()) } == [isMet])
  }

  @Test func runWithoutCallsMeetsNoLatencyThreshold() throws {
    let empty = ReportBuilder(
      plan: LoadPlan(),
      target: LoadTarget(transport: .http(HTTPTarget(host: "h", port: 1)), method: "a.B/C"), startTime: Date()
    ).report()
    #expect(try Threshold.list("p99<5ms, errors<1%").map { $0.isMet(by: empty) } == [false, true])
    #expect(empty.warnings.contains { $0.contains("no call has ended") })
  }

  @Test func droppedCallsCountAsErrors() throws {
    let report = Self.sample { $0.dropped = 1_000 }
    #expect(try Threshold.list("errors<50%").map { $0.isMet(by: report) } == [false])
    #expect(report.warnings.contains { $0.contains("never sent") })
  }

  @Test(arguments: [
    "", "p99", "p98<5ms", "p99<5", "p99<ms", "p99=5ms", "errors<x%", "rate<-1", "p99<5ms,", "p50<nanms",
  ])
  func invalidThresholdsAreRejected(_ text: String) {
    #expect { try Threshold.list(text) } throws: { ($0 as? LoadError)?.code == .thresholdInvalid }
  }

  @Test func jsonRoundTrips() throws {
    let report = Self.sample()
    #expect(try LoadReport(json: try report.json(), name: "a") == report)
  }

  @Test func histogramHasInitialCapacity() {
    var histogram = Histogram<UInt64>.ofLatencies(.three)
    let hourNs: UInt64 = 3_600_000_000_000
    let highest = histogram.highestTrackableValue
    for ns in [0, 1, 20_000, 30_000_000_000, hourNs] as [UInt64] { histogram.record(ns) }
    #expect(histogram.highestTrackableValue == highest, "growing the histogram would delay calls")
    // The call was due one hour before it was sent and took one hour; its latency is still recorded.
    histogram.record(2 * hourNs)
    #expect(histogram.totalCount == 6 && histogram.max >= 2 * hourNs)
  }

  @Test(arguments: ["", "{}", "[]", "null"])
  func invalidReportsAreRejected(_ text: String) {
    #expect { try LoadReport(json: Array(text.utf8), name: "a.json") } throws: {
      ($0 as? LoadError)?.code == .reportInvalid && ($0 as? LoadError)?.field == "a.json"
    }
  }

  @Test(arguments: [
    ("\"version\":1", "\"version\":2"), ("\"calls\":1000", "\"calls\":-1"),
    ("\"durationMs\":1000", "\"durationMs\":1e300"),
  ])
  func reportsWithImpossibleNumbersAreRejected(_ now: String, _ then: String) throws {
    let text = String(decoding: try Self.sample().json(), as: UTF8.self)
    #expect(text.contains(now))
    #expect { try LoadReport(json: Array(text.replacing(now, with: then).utf8), name: "a") } throws: {
      ($0 as? LoadError)?.code == .reportInvalid
    }
  }

  @Test func csvQuotesCells() {
    let rows = Self.sample().csv()
    #expect(rows.hasPrefix("metric,value,unit\r\n"))
    #expect(rows.contains("method,\"a.B/C,\"\"d\"\"\",\r\n"))
    #expect(rows.contains("status_UNAVAILABLE,1,\r\n"))
  }

  @Test func htmlIsSelfContainedWithoutScripts() throws {
    let report = Self.sample()
    let page = HTMLReport.page([("one", report), ("<two>", report)])
    #expect(page.contains("<svg") && page.contains("<polyline") && page.contains("&lt;two&gt;"))
    #expect(
      !page.contains("<script") && !page.contains("http-equiv") && !page.contains("src=") && !page.contains("href="))
    let parser = XMLDocumentCheck()
    #expect(parser.isWellFormed(page))
  }

  @Test func textReportHasKeyFigures() {
    let lines = TextReport.lines(Self.sample { $0.dropped = 1 })
    #expect(!lines.contains { $0.contains("\n") } && lines.contains { $0.hasPrefix("warning: ") })
    let text = lines.joined(separator: "\n")
    for part in ["1,000/s", "p99.99", "from due", "from sent", "UNAVAILABLE", "█"] { #expect(text.contains(part)) }
  }

  @Test func comparisonShowsRatiosToBaseline() {
    let slow = Self.sample { record in
      for _ in 0..<1_000 {
        record.ended(status: 0, dueNs: 0, sentNs: 0, nowNs: 1_000_000_000, isOpenLoop: true)
        record.endedInTime(nowNs: 1_000_000_000)
      }
    }
    let lines = Comparison.lines([("a", Self.sample()), ("b", slow)])
    #expect(lines.contains { $0.hasPrefix("calls/s") && $0.contains("(2.00x)") })
    #expect(lines.contains { $0.hasPrefix("p99 ") && $0.contains("1.00s") })
  }
}

/// Checks that every element of a page is closed, except those without an end tag.
struct XMLDocumentCheck {
  func isWellFormed(_ page: String) -> Bool {
    var open: [Substring] = []
    for tag in page.matches(of: /<(\/?)([a-z0-9]+)[^>]*?(\/?)>/) {
      let (isEnd, name, isEmpty) = (!tag.1.isEmpty, tag.2, !tag.3.isEmpty)
      if ["meta", "line", "rect"].contains(name) || isEmpty { continue }
      if isEnd {
        guard open.popLast() == name else { return false }
      } else {
        open.append(name)
      }
    }
    return open.isEmpty
  }
}
