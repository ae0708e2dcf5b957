import Foundation

/// A row of the table: a value and its baseline from the same run.
struct BenchRow: Encodable {
  enum Direction { case atLeast, atMost }

  var name: String
  var value: Double
  var unit: String
  var baseline: Double?
  var ratio: Double?
  /// The target for the ratio if there is a baseline, otherwise for the value; nil for an informative row.
  var target: Double?
  var met: Bool?

  init(
    _ name: String, _ value: Double, _ unit: String, baseline: Double? = nil, _ direction: Direction = .atLeast,
    target: Double? = nil
  ) {
    self.name = name
    self.value = value
    self.unit = unit
    self.baseline = baseline
    self.target = target
    ratio = baseline.map { value / $0 }
    let judged = ratio ?? value
    met = target.map { direction == .atLeast ? judged >= $0 : judged <= $0 }
  }

  private enum Key: String, CodingKey { case name, value, unit, baseline, ratio, target, met }

  /// Encodes absent members as null, so that every row has the same shape.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(name, forKey: .name)
    try container.encode(value, forKey: .value)
    try container.encode(unit, forKey: .unit)
    try container.encode(baseline, forKey: .baseline)
    try container.encode(ratio, forKey: .ratio)
    try container.encode(target, forKey: .target)
    try container.encode(met, forKey: .met)
  }

  static func table(_ rows: [BenchRow]) -> String {
    let cells =
      [["name", "value", "unit", "baseline", "ratio", "target", "met"]]
      + rows.map { row in
        [
          row.name, number(row.value), row.unit, row.baseline.map(number) ?? "-", row.ratio.map(number) ?? "-",
          row.target.map(number) ?? "-", row.met.map { $0 ? "yes" : "NO" } ?? "-",
        ]
      }
    let widths = (0..<7).map { column in cells.map { $0[column].count }.max() ?? 0 }
    return cells.map { line in
      zip(line, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
    }.joined(separator: "\n")
  }

  private static func number(_ value: Double) -> String {
    String(format: value >= 1_000 ? "%.0f" : "%.2f", value)
  }
}

func median(_ values: [Double]) -> Double {
  guard !values.isEmpty else { return .nan }
  let sorted = values.sorted()
  let middle = sorted.count / 2
  return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
