package import CampanileBase

/// The rates, latencies and errors of each method between two samples of a gateway.
package struct TopFrame: Sendable, Hashable, Codable {
  package struct Method: Sendable, Hashable, Codable {
    package var method: String
    /// Finished calls per second.
    package var rate: Double
    package var errorRate: Double
    /// The most frequent status code of the failed calls.
    package var mostError: String?
    /// Median latency of the finished calls; nil if there are none.
    package var p50Ms: Double?
    package var p99Ms: Double?
    /// Calls since the gateway's start.
    package var total: Int
    /// Calls in progress.
    package var open: Int
  }

  /// The sort order of the methods.
  package enum Order: String, Sendable, Hashable, CaseIterable {
    case rate, errors, p99, total, name
  }

  package var intervalMs: Int64
  package var uptimeMs: Int64
  package var residentBytes: Int?
  package var rate: Double
  package var errorRate: Double
  package var openCalls: Int
  package var openStreams: Int
  package var backends: [BackendStatus]
  package var methods: [Method]

  /// Creates a frame from the difference of two samples.
  ///
  /// - Parameters:
  ///   - earlier: The previous sample. Nil, or a sample from before a restart of the gateway, gives a frame since its
  ///     start.
  ///   - intervalMs: The time between the samples; at least 1.
  package init(from earlier: GatewaySummary?, to later: GatewaySummary, intervalMs: Int64, order: Order = .rate) {
    let isSame = earlier.map { $0.uptimeMs <= later.uptimeMs } ?? false
    let passedMs = max(1, isSame ? intervalMs : later.uptimeMs)
    let before = Dictionary((isSame ? earlier?.methods ?? [] : []).map { ($0.method, $0) }) { $1 }
    self.intervalMs = passedMs
    uptimeMs = later.uptimeMs
    residentBytes = later.residentBytes
    openCalls = later.openCalls
    openStreams = later.openStreams
    backends = later.backends
    methods = later.methods.map { Self.method($0, since: before[$0.method], passedMs: passedMs) }
    rate = methods.reduce(0) { $0 + $1.rate }
    errorRate = methods.reduce(0) { $0 + $1.errorRate }
    sort(by: order)
  }

  private static func method(
    _ later: GatewaySummary.Method, since earlier: GatewaySummary.Method?, passedMs: Int64
  ) -> Method {
    let seconds = Double(passedMs) / 1000
    let succeeded = later.succeeded - (earlier?.succeeded ?? 0)
    var failures: [String: Int] = [:]
    for (code, count) in later.failures {
      let new = count - (earlier?.failures[code] ?? 0)
      if new > 0 { failures[code] = new }
    }
    let failed = failures.values.reduce(0, +)
    let latency = difference(later.latency, earlier?.latency ?? [])
    return Method(
      method: later.method, rate: Double(max(0, succeeded) + failed) / seconds, errorRate: Double(failed) / seconds,
      mostError: failures.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key,
      p50Ms: quantile(0.5, latency).map { $0 / 1000 }, p99Ms: quantile(0.99, latency).map { $0 / 1000 },
      total: later.started, open: max(0, later.started - later.succeeded - later.failed))
  }

  private static func difference(_ later: [[Int64]], _ earlier: [[Int64]]) -> [[Int64]] {
    let before = Dictionary(earlier.filter { $0.count == 3 }.map { ($0[0], $0[2]) }) { $1 }
    return later.filter { $0.count == 3 }.map { [$0[0], $0[1], $0[2] - (before[$0[0]] ?? 0)] }.filter { $0[2] > 0 }
  }

  /// Returns a quantile in microseconds, interpolated linearly within a bucket; nil if the buckets are empty.
  static func quantile(_ part: Double, _ buckets: [[Int64]]) -> Double? {
    let total = buckets.reduce(0.0) { $0 + Double($1[2]) }
    guard total > 0 else { return nil }
    let rank = part * total
    var counted = 0.0
    for bucket in buckets.sorted(by: { $0[0] < $1[0] }) {
      let count = Double(bucket[2])
      if counted + count >= rank {
        return Double(bucket[0]) + Double(bucket[1] - bucket[0]) * (rank - counted) / count
      }
      counted += count
    }
    return buckets.map { Double($0[1]) }.max()
  }

  private mutating func sort(by order: Order) {
    methods.sort { one, other in
      let (a, b): (Double, Double) =
        switch order {
        case .rate: (one.rate, other.rate)
        case .errors: (one.errorRate, other.errorRate)
        case .p99: (one.p99Ms ?? -1, other.p99Ms ?? -1)
        case .total: (Double(one.total), Double(other.total))
        case .name: (0, 0)
        }
      if a != b { return a > b }
      if order != .name, one.total != other.total { return one.total > other.total }
      return one.method < other.method
    }
  }
}
