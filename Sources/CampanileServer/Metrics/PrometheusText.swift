/// A writer of the Prometheus text exposition format 0.0.4.
struct PrometheusText {
  /// The media type of the format.
  static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  private(set) var output = ""

  /// Writes `# HELP`, if not nil, and `# TYPE`.
  mutating func header(_ name: String, kind: String, help: String?) {
    if let help { output += "# HELP \(name) \(Self.escapedHelp(help))\n" }
    output += "# TYPE \(name) \(kind)\n"
  }

  /// Writes a sample line.
  mutating func sample(_ name: String, _ labels: Labels, _ value: Double, bound: String? = nil) {
    output += name
    var pairs = labels.pairs.map { "\($0.name)=\"\(Self.escapedLabel($0.value))\"" }
    if let bound { pairs.append("le=\"\(bound)\"") }
    if !pairs.isEmpty { output += "{" + pairs.joined(separator: ",") + "}" }
    output += " \(Self.number(value))\n"
  }

  /// Writes a histogram: cumulative buckets, `_sum` and `_count`.
  mutating func histogram(_ name: String, _ labels: Labels, _ series: HistogramSeries) {
    let snapshot = series.snapshot
    for (bound, count) in zip(series.bounds + [.infinity], snapshot.cumulated) {
      sample(name + "_bucket", labels, Double(count), bound: Self.number(bound))
    }
    sample(name + "_sum", labels, snapshot.sum)
    sample(name + "_count", labels, Double(snapshot.cumulated.last ?? 0))
  }

  /// Returns a valid metric name, `[a-zA-Z_:][a-zA-Z0-9_:]*`, with other characters replaced by `_`.
  static func metricName(_ text: String) -> String { name(text, colons: true) }

  /// Returns a valid label name, `[a-zA-Z_][a-zA-Z0-9_]*`. `le` is reserved for histograms and becomes `le_`.
  static func labelName(_ text: String) -> String {
    let name = name(text, colons: false)
    return name == "le" ? "le_" : name
  }

  private static func name(_ text: String, colons: Bool) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "a"..."z", "A"..."Z", "_": result.unicodeScalars.append(scalar)
      case "0"..."9":
        if result.isEmpty { result = "_" }
        result.unicodeScalars.append(scalar)
      case ":" where colons: result.unicodeScalars.append(scalar)
      default: result += "_"
      }
    }
    return result.isEmpty ? "_" : result
  }

  /// Escapes backslashes, quotes and line feeds in a label value.
  static func escapedLabel(_ text: String) -> String { escaped(text, quotes: true) }

  /// Escapes backslashes and line feeds in a help text.
  static func escapedHelp(_ text: String) -> String { escaped(text, quotes: false) }

  // Iterates over scalars, because CR LF and a quote with a combining mark are single characters in Swift.
  private static func escaped(_ text: String, quotes: Bool) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\"" where quotes: result += "\\\""
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// Formats a number for Go's `ParseFloat`.
  static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    if value == value.rounded(), abs(value) < 1e15 { return String(Int64(value)) }
    return String(value)
  }
}
