extension FieldRules {
  /// Returns the constraints as phrases, such as `1 to 128 characters`; empty without constraints.
  ///
  /// - Parameter name: Returns the name of an enum's value.
  func phrases(named name: (Int32) -> String) -> [String] {
    var phrases: [String] = isRequired ? ["required"] : []
    if isUnreadable { phrases.append("constraints that this version cannot read") }
    switch kind {
    case nil: break
    case .text(let characters, let bytes, let pattern, let values):
      phrases += [Self.phrase(characters, "character"), Self.phrase(bytes, "byte")].compactMap { $0 }
      if let pattern { phrases.append("matches `\(pattern)`") }
      if !values.isEmpty { phrases.append("one of " + values.map { "`\($0)`" }.joined(separator: ", ")) }
    case .bytes(let sizes): phrases += [Self.phrase(sizes, "byte")].compactMap { $0 }
    case .number(let range):
      switch (range.lowest, range.highest) {
      case (let low?, let high?): phrases.append("\(low) to \(high)")
      case (let low?, nil): phrases.append("at least \(low)")
      case (nil, let high?): phrases.append("at most \(high)")
      case (nil, nil): break
      }
    case .duration(let range):
      switch (range.lowest, range.highest) {
      case (let low?, let high?): phrases.append("\(low) to \(high) s")
      case (let low?, nil): phrases.append("at least \(low) s")
      case (nil, let high?): phrases.append("at most \(high) s")
      case (nil, nil): break
      }
    case .enumeration(let values):
      if values.isSpecified, !isRequired { phrases.append("required") }
      func list(_ numbers: [Int32]) -> String { numbers.map { "`\(name($0))`" }.joined(separator: ", ") }
      if let listed = values.listed {
        phrases.append("one of " + list(listed))
      } else if values.isDefined {
        phrases.append("a defined value")
      }
      if !values.excluded.isEmpty { phrases.append("not " + list(values.excluded)) }
    case .repeated(let counts): phrases += [Self.phrase(counts, "entry", "entries")].compactMap { $0 }
    case .map(let counts): phrases += [Self.phrase(counts, "entry", "entries")].compactMap { $0 }
    }
    for (title, rules) in keys.map({ ("each key: ", $0) }) + elements.map({ ("each: ", $0) }) {
      let inner = rules.phrases(named: name)
      if !inner.isEmpty { phrases.append(title + inner.joined(separator: ", ")) }
    }
    return phrases
  }

  private static func phrase(_ bounds: Bounds, _ unit: String, _ units: String? = nil) -> String? {
    func counted(_ count: UInt64) -> String { "\(count) \(count == 1 ? unit : units ?? unit + "s")" }
    return switch (bounds.min, bounds.max) {
    case (let low?, let high?): low == high ? counted(low) : "\(low) to \(counted(high))"
    case (let low?, nil): "at least " + counted(low)
    case (nil, let high?): "at most " + counted(high)
    case (nil, nil): nil
    }
  }

  /// The reasons of the violations that the constraints can cause.
  package var reasons: Set<String> {
    var reasons: Set<String> = isRequired ? ["REQUIRED"] : []
    func add(_ bounds: Bounds, tooShort: String, tooLong: String) {
      if let min = bounds.min, min > 0 { reasons.insert("REQUIRED") }
      if let min = bounds.min, min > 1 { reasons.insert(tooShort) }
      if bounds.max != nil { reasons.insert(tooLong) }
    }
    switch kind {
    case nil: break
    case .text(let characters, let bytes, let pattern, let values):
      reasons.insert("TEXT_INVALID")
      add(characters, tooShort: "TOO_SHORT", tooLong: "TOO_LONG")
      add(bytes, tooShort: "TOO_SHORT", tooLong: "TOO_LONG")
      if pattern != nil { reasons.insert(reason.isEmpty ? "TEXT_INVALID" : reason) }
      if !values.isEmpty { reasons.insert(reason.isEmpty ? "VALUE_UNKNOWN" : reason) }
    case .bytes(let sizes): add(sizes, tooShort: "TOO_SHORT", tooLong: "TOO_LONG")
    case .number, .duration: reasons.insert("OUT_OF_RANGE")
    case .enumeration(let values):
      reasons.insert("ENUM_UNKNOWN")
      if values.isSpecified { reasons.insert("ENUM_UNSPECIFIED") }
    case .repeated(let counts), .map(let counts): add(counts, tooShort: "REQUIRED", tooLong: "TOO_MANY")
    }
    return (keys + elements).reduce(into: reasons) { $0.formUnion($1.reasons) }
  }
}

extension Contract {
  /// Returns the constraints of a field as phrases, such as `1 to 128 characters`; empty without constraints.
  package func phrases(of field: Field) -> [String] {
    let values = enumeration(of: field)?.values ?? []
    return field.rules.phrases { number in values.first { $0.number == number }?.name ?? "\(number)" }
  }

  /// Returns the enum of a field, of its elements or of its map's values; nil if they are not enums.
  package func enumeration(of field: Field) -> Enumeration? {
    switch field.kind {
    case .enumeration(let name), .map(_, .enumeration(let name)): enums[name]
    default: nil
    }
  }
}
