/// How many calls a second an open loop starts, over the whole run.
public enum ArrivalRate: Sendable, Hashable, CustomStringConvertible {
  case constant(Double)
  /// Equal parts of the run, one after the other; at most 100.
  case steps([Double])
  /// Rises or falls evenly over the run.
  case ramp(from: Double, to: Double)

  /// The highest rate that may be asked for.
  public static let perSecondMax = 10_000_000.0
  static let stepsMax = 100

  /// Reads `5000`, `1000,2000,4000` (steps) or `1000..8000` (ramp); calls a second, more than 0 and at most 10,000,000; the lower
  /// end of a ramp may be 0. Throws `LOAD_RATE_INVALID`.
  public init(_ text: String) throws(LoadError) {
    func number(_ part: some StringProtocol, orZero: Bool = false) throws(LoadError) -> Double {
      guard let rate = Double(part), rate.isFinite, rate > 0 || (orZero && rate == 0), rate <= Self.perSecondMax else {
        throw LoadError(
          .rateInvalid, field: "--rate",
          reason: "\(String(part.prefix(40)).debugDescription) is no number of calls a second up to 10000000")
      }
      return rate
    }
    if let dots = text.firstRange(of: "..") {
      let from = try number(text[..<dots.lowerBound], orZero: true)
      let to = try number(text[dots.upperBound...], orZero: true)
      guard from > 0 || to > 0 else {
        throw LoadError(.rateInvalid, field: "--rate", reason: "a ramp from 0 to 0 sends nothing")
      }
      self = .ramp(from: from, to: to)
      return
    }
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    guard parts.count <= Self.stepsMax else {
      throw LoadError(.rateInvalid, field: "--rate", reason: "\(parts.count) steps, at most \(Self.stepsMax)")
    }
    var rates: [Double] = []
    for part in parts { rates.append(try number(part)) }
    self = rates.count == 1 ? .constant(rates[0]) : .steps(rates)
  }

  /// Whether it is the same however long the run is.
  public var isConstant: Bool { if case .constant = self { true } else { false } }

  /// The highest rate of the run.
  public var peakPerSecond: Double {
    switch self {
    case .constant(let rate): rate
    case .steps(let rates): rates.max() ?? 0
    case .ramp(let from, let to): max(from, to)
    }
  }

  public var description: String {
    func text(_ rate: Double) -> String { rate == rate.rounded() ? String(Int(rate)) : String(rate) }
    switch self {
    case .constant(let rate): return "\(text(rate))/s"
    case .steps(let rates): return rates.map(text).joined(separator: ", ") + "/s in steps"
    case .ramp(let from, let to): return "\(text(from)) to \(text(to))/s"
    }
  }
}

/// How arrivals are spaced at a rate.
public enum ArrivalSpacing: String, Sendable, Hashable, CaseIterable {
  /// Independent of each other, as those of many users: a Poisson process.
  case poisson
  /// Evenly.
  case uniform
}
