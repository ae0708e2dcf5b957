/// Regular expressions for values that JSON represents as texts, in the part of ECMA-262 that all engines share.
enum TextPatterns {
  /// Texts with a constraint reject U+0000.
  static let withoutNUL = #"^[^\x00]*$"#
  /// A segment of a path: neither empty nor only dots, and without control characters.
  static let segment = #"^[^\x00-\x1f\x7f]*[^\x00-\x1f\x7f.][^\x00-\x1f\x7f]*$"#
  /// A value in a query, where whitespace is the only control characters.
  static let query = #"^[^\x00-\x08\x0e-\x1f\x7f]*$"#
  static let duration = #"^-?[0-9]{1,11}(\.[0-9]{1,9})?s$"#
  static let mask = #"^[a-z][A-Za-z0-9.]*(,[a-z][A-Za-z0-9.]*)*$"#
  static let base64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
  static let entityTag = #"^("[!#-~]{1,254}"|\*)$"#

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
