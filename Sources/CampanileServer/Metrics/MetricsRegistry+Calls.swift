import CampanileBase
import CampanileRPC

extension MetricsRegistry {
  /// Exports the counts of a server's calls. Unknown methods are counted as `_OTHER`.
  ///
  /// `campanile_server_handled_total{service,method,code}`, `campanile_server_handling_seconds{service,method}`,
  /// `campanile_server_started_total{service,method}`, `campanile_server_open_calls` and
  /// `campanile_server_open_connections`.
  func addCalls(_ calls: CallMetrics) {
    addGauge("campanile_server_open_connections") { calls.openConnections }
    addGauge("campanile_server_open_calls") { calls.openCalls }
    addTotals("campanile_server_started_total") { calls.all.map { ($0.labels, $0.started) } }
    addTotals("campanile_server_handled_total") { calls.all.flatMap(\.handled) }
    addHistograms("campanile_server_handling_seconds") { calls.all.map { ($0.labels, $0.durations) } }
  }
}

extension MethodMetrics {
  fileprivate var labels: [(String, String)] {
    [("service", method?.service ?? Self.other), ("method", method?.name ?? Self.other)]
  }

  /// Finished calls by code.
  fileprivate var handled: [(labels: [(String, String)], total: Int)] {
    [(labels + [("code", "OK")], succeeded)] + failures.map { (labels + [("code", $0.key.name)], $0.value) }
  }
}
