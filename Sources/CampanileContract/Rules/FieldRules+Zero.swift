extension FieldRules {
  /// Whether the rules refuse an empty value, zero, or an absent message.
  package var rejectsZero: Bool {
    if isRequired { return true }
    if allowsZero || isIgnored { return false }
    return switch kind {
    case .text(let characters, let bytes, let pattern, let values):
      (characters.min ?? 0) > 0 || (bytes.min ?? 0) > 0 || pattern.map(Self.needsCharacters) ?? false
        || !values.isEmpty && !values.contains("")
    case .bytes(let sizes): (sizes.min ?? 0) > 0
    case .repeated(let counts), .map(let counts): (counts.min ?? 0) > 0
    case .enumeration(let values): values.isSpecified
    case .number(let range):
      (range.lowest.flatMap(Double.init) ?? 0) > 0 || (range.highest.flatMap(Double.init) ?? 0) < 0
    // An absent message satisfies its rules.
    case .duration, nil: false
    }
  }

  private static func needsCharacters(_ pattern: String) -> Bool {
    (try? PatternCompiler.parts(of: pattern))?.contains { $0.min > 0 } ?? false
  }
}

extension Contract.Field {
  /// Whether every valid message has the field. An absent field with presence satisfies its rules.
  package var isRequired: Bool {
    rules.isRequired || !isOptional && oneof == nil && rules.rejectsZero
  }
}
