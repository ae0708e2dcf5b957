/// Regular expressions for values that JSON represents as texts, in the part of ECMA-262 that all engines share.
enum TextPatterns {
  /// Texts with a constraint reject U+0000.
  static let withoutNUL = #"^[^\x00]*$"#
  /// A segment of a path: neither empty nor only dots, and without control characters.
  static let segment = #"^[^\x00-\x1f\x7f-\x9f]*[^\x00-\x1f\x7f-\x9f.][^\x00-\x1f\x7f-\x9f]*$"#
  static let zoneID = "^[A-Za-z0-9._:-]{1,128}$"
  /// A value in a query, where whitespace is the only control characters.
  static let query = #"^[^\x00-\x08\x0e-\x1f\x7f]*$"#
  static let duration = #"^-?[0-9]{1,11}(\.[0-9]{1,9})?s$"#
  static let mask = #"^[a-z][A-Za-z0-9.]*(,[a-z][A-Za-z0-9.]*)*$"#
  static let base64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
  static let entityTag = #"^("[!#-~]{1,254}"|\*)$"#

  /// Returns the pattern of durations between two bounds in seconds.
  static func duration(from lowest: UInt64, to highest: UInt64) -> String {
    var choices = [String(highest) + #"(\.0{1,9})?"#]
    if highest > lowest {
      choices.insert("(\(span(from: lowest, to: highest - 1).joined(separator: "|")))" + #"(\.[0-9]{1,9})?"#, at: 0)
    }
    return "^0*(\(choices.joined(separator: "|")))s$"
  }

  /// Returns alternatives that together match the integers between two bounds, without leading zeros.
  private static func span(from lowest: UInt64, to highest: UInt64) -> [String] {
    let (low, high) = (Array(String(lowest)), Array(String(highest)))
    if low.count < high.count {
      let nines = UInt64(String(repeating: "9", count: low.count)) ?? highest
      return span(from: lowest, to: nines) + span(from: nines + 1, to: highest)
    }
    return span(low[...], high[...])
  }

  /// The same for digits of equal length.
  private static func span(_ low: ArraySlice<Character>, _ high: ArraySlice<Character>) -> [String] {
    guard let first = low.first, let last = high.first else { return [""] }
    let (lowRest, highRest) = (low.dropFirst(), high.dropFirst())
    if lowRest.allSatisfy({ $0 == "0" }), highRest.allSatisfy({ $0 == "9" }) {
      let digit = first == last ? String(first) : "[\(first)-\(last)]"
      return [digit + (lowRest.isEmpty ? "" : "[0-9]{\(lowRest.count)}")]
    }
    if first == last { return span(lowRest, highRest).map { String(first) + $0 } }
    let (zeros, nines) = (lowRest.map { _ in Character("0") }, lowRest.map { _ in Character("9") })
    var choices = span(lowRest, nines[...]).map { String(first) + $0 }
    if let from = first.wholeNumberValue, let to = last.wholeNumberValue, from + 1 < to {
      choices.append("[\(from + 1)-\(to - 1)][0-9]{\(lowRest.count)}")
    }
    return choices + span(zeros[...], highRest).map { String(last) + $0 }
  }

  /// Returns the pattern of integers up to a bound.
  ///
  /// - Parameters:
  ///   - isSigned: Whether negative numbers match too; their magnitude has the same bound.
  ///   - startsAtOne: Whether 0 is excluded.
  static func integers(to highest: UInt64, isSigned: Bool, startsAtOne: Bool = false) -> String {
    let digits = Array(String(highest))
    var choices = startsAtOne ? [] : ["0"]
    if digits.count > 1 { choices.append("[1-9][0-9]{0,\(digits.count - 2)}") }
    for (index, digit) in digits.enumerated() {
      // Numbers of the same length that are smaller from this digit on.
      let first = index == 0 ? 1 : 0
      guard let value = digit.wholeNumberValue, value > first else { continue }
      let smaller = value - 1 == first ? "\(first)" : "[\(first)-\(value - 1)]"
      let rest = digits.count - index - 1
      choices.append(String(digits[..<index]) + smaller + (rest > 0 ? "[0-9]{\(rest)}" : ""))
    }
    if highest > 0 { choices.append(String(highest)) }
    return "^\(isSigned ? "-?" : "")(\(choices.joined(separator: "|")))$"
  }
}
