import SwiftProtobuf

/// Detection of rules that no value satisfies.
extension FieldRules {
  /// The greatest number of seconds in a `google.protobuf.Duration`.
  private static let secondsMax: Int64 = 315_576_000_000

  func checkPossible(_ field: FieldShape) throws {
    switch kind {
    case nil: break
    case .text(let characters, let bytes, let pattern, let values):
      try Self.check(characters, bytes, pattern, values)
    case .bytes(let sizes): try Self.check(sizes)
    case .number(let range):
      let isZero = range.lowest.flatMap(Double.init) == 0 && range.highest.flatMap(Double.init) == 0
      guard range.isPossible, !(isZero && isRequired && !field.hasPresence) else { throw Self.impossible }
    case .duration(let range):
      let (lowest, highest) = (range.lowest ?? -Self.secondsMax, range.highest ?? Self.secondsMax)
      guard lowest <= min(highest, Self.secondsMax), highest >= -Self.secondsMax else { throw Self.impossible }
    case .enumeration(let values): try values.check(field.enumNumbers)
    case .repeated(let counts): try checkCount(counts)
    case .map(let counts): try checkCount(counts, keysMax: keysMax(field))
    }
    for rules in elements + keys { try rules.checkPossible(field) }
  }

  private static let impossible = ContractError("has bounds that exclude every value")

  private static func check(_ bounds: Bounds) throws {
    guard bounds.min ?? 0 <= bounds.max ?? .max else {
      throw ContractError("needs at least \(bounds.min ?? 0) and at most \(bounds.max ?? .max)")
    }
  }

  private static func check(_ characters: Bounds, _ bytes: Bounds, _ pattern: String?, _ values: [String]) throws {
    try check(characters)
    try check(bytes)
    // A character has one to four bytes.
    let bytesMax = (characters.max ?? .max).multipliedReportingOverflow(by: 4)
    guard characters.min ?? 0 <= bytes.max ?? .max, bytesMax.overflow || bytes.min ?? 0 <= bytesMax.partialValue else {
      throw ContractError("has lengths in characters and in bytes that exclude each other")
    }
    let parts = try pattern.map { try PatternCompiler.parts(of: $0) }
    if let parts {
      let least = parts.reduce(0) { $0 + UInt64($1.min) }
      let most = parts.contains { $0.max == .max } ? nil : parts.reduce(0) { $0 + UInt64($1.max) }
      for bounds in [characters, bytes] where bounds.max ?? .max < least || bounds.min ?? 0 > most ?? .max {
        throw ContractError("has a pattern that its lengths exclude")
      }
    }
    for value in values {
      let isAccepted =
        characters.contain(value.unicodeScalars.count) && bytes.contain(value.utf8.count)
        && parts.map { PatternCompiler.matches(value, $0) } ?? true
      guard isAccepted else { throw ContractError("lists \(value), which its other rules exclude") }
    }
  }

  private func checkCount(_ counts: Bounds, keysMax: UInt64? = nil) throws {
    let least = isRequired ? Swift.max(counts.min ?? 0, 1) : counts.min
    try Self.check(Bounds(min: least, max: [counts.max, keysMax].compactMap { $0 }.min()))
  }

  /// The number of different keys, where the type or a list limits it.
  private func keysMax(_ field: FieldShape) -> UInt64? {
    if case .text(_, _, _, let values)? = keys.first?.kind, !values.isEmpty { return UInt64(Set(values).count) }
    return field.entry?.key == .bool ? 2 : nil
  }
}

extension FieldRules.Bounds {
  fileprivate func contain(_ count: Int) -> Bool { (min ?? 0)...(max ?? .max) ~= UInt64(count) }
}
