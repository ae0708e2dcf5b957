internal import Foundation

/// A line plot with axes, as SVG.
struct SVGPlot {
  struct Series {
    var name: String
    var points: [(x: Double, y: Double)]
  }

  enum Scale {
    case linear
    case logarithm
    /// Percentiles, with 0, 90, 99, 99.9 … at equal distances.
    case nines
  }

  var title: String
  var xLabel: String
  var yLabel: String
  var xScale: Scale
  var yScale: Scale
  var series: [Series]

  private static let width = 860.0
  private static let height = 320.0
  private static let left = 70.0
  private static let right = 20.0
  private static let top = 34.0
  private static let bottom = 46.0
  private static let colours = ["#0b6bcb", "#d1495b", "#2e8b57", "#8a5cd1", "#c77d0a", "#0a8f9c"]
  /// Maximum number of points of a line; longer lines are thinned out.
  private static let pointsMax = 2_000
  private static let nineMax = 6.0

  func svg() -> String {
    let lines = series.map { line in
      Self.thinned(line.points).map { (self.place($0.x, xScale), self.place($0.y, yScale)) }
        .filter { $0.0.isFinite && $0.1.isFinite }
    }
    let xs = lines.joined().map(\.0)
    let ys = lines.joined().map(\.1)
    guard let xLow = xs.min(), let xHigh = xs.max(), let yHighest = ys.max(), let yLowest = ys.min() else { return "" }
    let xRange = (xLow, max(xHigh, xLow + 1e-9))
    let yLow = yScale == .linear ? 0 : yLowest.rounded(.down)
    let yRange = (yLow, max(yScale == .linear ? yHighest * 1.05 : yHighest.rounded(.up), yLow + 1e-9))
    func x(_ value: Double) -> Double {
      Self.left + (value - xRange.0) / (xRange.1 - xRange.0) * (Self.width - Self.left - Self.right)
    }
    func y(_ value: Double) -> Double {
      Self.height - Self.bottom - (value - yRange.0) / (yRange.1 - yRange.0) * (Self.height - Self.top - Self.bottom)
    }
    var parts = [
      "<svg viewBox=\"0 0 \(Int(Self.width)) \(Int(Self.height))\" role=\"img\" aria-label=\"\(HTMLReport.escaped(title))\">",
      text(title, x: Self.left, y: 18, anchor: "start", weight: "bold"),
      text("\(xLabel)", x: Self.width - Self.right, y: Self.height - 6, anchor: "end"),
      text("\(yLabel)", x: 6, y: 18, anchor: "start"),
    ]
    for tick in Self.ticks(yRange, yScale) {
      let at = y(tick)
      parts.append(
        "<line x1=\"\(Self.left)\" x2=\"\(Self.width - Self.right)\" y1=\"\(n(at))\" y2=\"\(n(at))\" stroke=\"#8884\"/>"
      )
      parts.append(text(Self.label(tick, yScale), x: Self.left - 6, y: at + 4, anchor: "end"))
    }
    for tick in Self.ticks(xRange, xScale) {
      let at = x(tick)
      parts.append(
        "<line x1=\"\(n(at))\" x2=\"\(n(at))\" y1=\"\(Self.top)\" y2=\"\(Self.height - Self.bottom)\" stroke=\"#8882\"/>"
      )
      parts.append(text(Self.label(tick, xScale), x: at, y: Self.height - Self.bottom + 16, anchor: "middle"))
    }
    for (index, line) in lines.enumerated() {
      let colour = Self.colours[index % Self.colours.count]
      let path = line.map { "\(n(x($0.0))),\(n(y($0.1)))" }.joined(separator: " ")
      parts.append("<polyline fill=\"none\" stroke=\"\(colour)\" stroke-width=\"1.8\" points=\"\(path)\"/>")
      if series.count > 1 {
        let at = Self.left + Double(index) * 130
        parts.append("<rect x=\"\(n(at))\" y=\"\(Self.height - 16)\" width=\"10\" height=\"10\" fill=\"\(colour)\"/>")
        parts.append(text(series[index].name, x: at + 14, y: Self.height - 7, anchor: "start"))
      }
    }
    return (parts + ["</svg>"]).joined(separator: "\n")
  }

  private func place(_ value: Double, _ scale: Scale) -> Double {
    switch scale {
    case .linear: value
    case .logarithm: log10(max(value, 1e-3))
    case .nines: min(-log10(max(1 - value / 100, 1e-9)), Self.nineMax)
    }
  }

  /// Returns the scaled values that get a grid line and a label.
  private static func ticks(_ range: (Double, Double), _ scale: Scale) -> [Double] {
    switch scale {
    case .logarithm, .nines: Array(stride(from: range.0.rounded(.up), through: range.1, by: 1).prefix(20))
    case .linear:
      {
        let step = niceStep((range.1 - range.0) / 6)
        return Array(stride(from: (range.0 / step).rounded(.up) * step, through: range.1, by: step).prefix(20))
      }()
    }
  }

  /// Returns the smallest step of 1, 2 or 5 times a power of ten that is at least `raw`.
  private static func niceStep(_ raw: Double) -> Double {
    let power = pow(10, log10(max(raw, 1e-12)).rounded(.down))
    return [1.0, 2.0, 5.0, 10.0].map { $0 * power }.first { $0 >= raw } ?? raw
  }

  private static func label(_ tick: Double, _ scale: Scale) -> String {
    switch scale {
    case .linear: abs(tick) < 1e15 && tick == tick.rounded() ? NumberText.grouped(Int(tick)) : "\(tick)"
    case .logarithm: pow(10, tick) < 1 ? "\(pow(10, tick))" : NumberText.grouped(Int(pow(10, min(tick, 15))))
    case .nines: tick == 0 ? "0" : "\(100 - pow(10, 2 - tick))"
    }
  }

  private static func thinned(_ points: [(x: Double, y: Double)]) -> [(x: Double, y: Double)] {
    guard points.count > pointsMax else { return points }
    let step = (points.count + pointsMax - 1) / pointsMax
    return stride(from: 0, to: points.count, by: step).map { points[$0] }
  }

  private func text(_ text: String, x: Double, y: Double, anchor: String, weight: String = "normal") -> String {
    "<text x=\"\(n(x))\" y=\"\(n(y))\" text-anchor=\"\(anchor)\" font-weight=\"\(weight)\">\(HTMLReport.escaped(text))</text>"
  }

  private func n(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
