/// The labels of a series, in the order of the exposition.
struct Labels: Sendable, Hashable, Comparable {
  var pairs: [Pair]

  struct Pair: Sendable, Hashable {
    var name: String
    var value: String
  }

  /// Converts swift-metrics dimensions. Names are sanitised and sorted; of equal names, the first counts.
  init(_ dimensions: [(String, String)]) {
    var seen: Set<String> = []
    pairs = dimensions.map { Pair(name: PrometheusText.labelName($0.0), value: $0.1) }
      .filter { seen.insert($0.name).inserted }
      .sorted { $0.name < $1.name }
  }

  /// The same labels with every value `_OTHER`, for the shared series beyond the limit.
  var other: Labels {
    var result = self
    for index in result.pairs.indices { result.pairs[index].value = MetricsRegistry.otherLabel }
    return result
  }

  static func < (left: Labels, right: Labels) -> Bool {
    left.pairs.lexicographicallyPrecedes(right.pairs) { ($0.name, $0.value) < ($1.name, $1.value) }
  }
}

/// All series with the same metric name.
struct MetricFamily: Sendable {
  enum Kind: String, Sendable {
    case counter, gauge, histogram
  }

  enum Series: Sendable {
    case counter(CounterSeries)
    case floatingPointCounter(FloatingPointCounterSeries)
    case gauge(GaugeSeries)
    case histogram(HistogramSeries)

    var kind: Kind {
      switch self {
      case .counter, .floatingPointCounter: .counter
      case .gauge: .gauge
      case .histogram: .histogram
      }
    }
  }

  var kind: Kind
  var series: [Labels: Series] = [:]
}
