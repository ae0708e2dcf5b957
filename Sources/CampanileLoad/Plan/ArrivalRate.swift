/// The calls per second that an open loop starts over a run.
public enum ArrivalRate: Sendable, Hashable, CustomStringConvertible {
  case constant(Double)
  /// A sequence of at most 100 rates, each for an equal part of the run.
  case steps([Double])
  /// A rate that changes linearly over the run.
  case ramp(from: Double, to: Double)

  /// Maximum rate.
  public static let perSecondMax = 10_000_000.0
  static let stepsMax = 100

  /// Parses `5000`, `1000,2000,4000` (steps) or `1000..8000` (ramp).
  ///
  /// Rates are calls per second, more than 0 and at most 10,000,000. One end of a ramp may be 0.
  ///
  /// - Throws: `LOAD_RATE_INVALID` for any other text.
  public init(_ text: String) throws(LoadError) {
    func number(_ part: some StringProtocol, orZero: Bool = false) throws(LoadError) -> Double {
      guard let rate = Double(part), rate.isFinite, rate > 0 || (orZero && rate == 0), rate <= Self.perSecondMax else {
        throw LoadError(
          .rateInvalid, field: "--rate",
          reason: "\(String(part.prefix(40)).debugDescription) is not a rate of up to 10000000 calls per second")
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

  /// Whether the rate does not depend on the duration of the run.
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

/// The spacing of arrivals at a rate.
public enum ArrivalSpacing: String, Sendable, Hashable, CaseIterable {
  /// Independent arrivals, as from many users: a Poisson process.
  case poisson
  /// Equal distances.
  case uniform
}
