import SwiftProtobuf

/// The `buf.validate.field` option of a field, and the `campanile.rpc.v1.violation` that describes its pattern.
///
/// Only the rules that generated code can check are accepted. A rule of another kind is an error, because a constraint
/// that nobody enforces would be a false promise.
package struct FieldRules: Sendable {
  /// The bounds of a length, a size or a number of entries.
  package struct Bounds: Sendable {
    package var min: UInt64?
    package var max: UInt64?

    package init(min: UInt64? = nil, max: UInt64? = nil) {
      self.min = min
      self.max = max
    }

    package var isEmpty: Bool { min == nil && max == nil }
  }

  /// The bounds of a number as Swift literals, both inclusive.
  package struct NumberRange: Sendable {
    /// The number of the type in `buf.validate.FieldRules`.
    let type: UInt64
    package var lowest: String?
    package var highest: String?
    var isPossible = true
  }

  /// The bounds of a duration in whole seconds, both inclusive.
  package struct SecondsRange: Sendable {
    package var lowest: Int64?
    package var highest: Int64?
  }

  package enum Kind: Sendable {
    case text(characters: Bounds, bytes: Bounds, pattern: String?, values: [String])
    case bytes(Bounds)
    case number(NumberRange)
    case duration(SecondsRange)
    case enumeration(EnumRules)
    case repeated(Bounds)
    case map(Bounds)
  }

  package var isRequired = false
  /// Whether an empty value, or zero, satisfies the rules.
  package var allowsZero = false
  /// Whether neither the field nor the message inside is validated with the message that contains it.
  package var isIgnored = false
  package var kind: Kind?
  /// The rules of each element of a list, or of each value of a map; at most one.
  package var elements: [FieldRules] = []
  /// The rules of each key of a map; at most one.
  package var keys: [FieldRules] = []
  /// The reason and the description of a violation of the pattern or of the list of values.
  package var reason = ""
  package var description = ""
  /// Texts or numbers of enum values that satisfy the rules, for documents.
  package var examples: [String] = []
  /// Whether the field has constraints that this version cannot read; nothing else is known of them.
  package private(set) var isUnreadable = false

  package var isEmpty: Bool { !isRequired && kind == nil && elements.isEmpty && keys.isEmpty }

  /// Whether a number or a bool must not have its default value. The other types have a lower bound instead.
  package var isRequiredNumber: Bool {
    switch kind {
    case nil, .number: isRequired
    default: false
    }
  }

  private init() {}

  /// The rules of a field whose constraints cannot be read.
  static let unreadable: FieldRules = {
    var rules = FieldRules()
    rules.isUnreadable = true
    return rules
  }()

  private static let fieldExtension: UInt64 = 1_159
  private static let violationExtension: UInt64 = 50_741
  /// The numbers of `example` in `buf.validate.StringRules` and in `EnumRules`.
  private static let textExample: UInt64 = 34
  private static let enumExample: UInt64 = 5

  /// Reads the options of a field; all are unset if there is none.
  ///
  /// - Throws: `ContractError` for unknown rules, rules of another type, and rules that no value satisfies.
  package init(_ field: FieldShape) throws {
    let options = try WireFields.read(field.options)
    // An option that is set member by member is stored in several pieces, which belong together.
    let rules = options.filter { $0.number == Self.fieldExtension }.flatMap(\.value)
    self = try FieldRules(rules[...])
    for (number, value) in options where number == Self.violationExtension {
      for (part, value) in try WireFields.read(value) {
        let text = String(decoding: value, as: UTF8.self)
        if part == 1 { reason = text } else { description = text }
      }
    }
    requireValue(field)
    moveViolation()
    try check(field)
  }

  /// A required field without presence must not be empty.
  private mutating func requireValue(_ field: FieldShape) {
    guard isRequired, !field.hasPresence, !field.isRepeated else { return }
    switch (kind, field.type) {
    case (.text(var characters, let bytes, let pattern, let values), _):
      characters.min = max(characters.min ?? 0, 1)
      kind = .text(characters: characters, bytes: bytes, pattern: pattern, values: values)
    case (.bytes(var sizes), _):
      sizes.min = max(sizes.min ?? 0, 1)
      kind = .bytes(sizes)
    case (.enumeration(var values), _):
      values.refused.insert(0)
      kind = .enumeration(values)
    case (nil, .string): kind = .text(characters: .init(min: 1), bytes: .init(), pattern: nil, values: [])
    case (nil, .bytes): kind = .bytes(.init(min: 1))
    case (nil, .enum): kind = .enumeration(EnumRules(refused: [0]))
    default: break
    }
  }

  /// Gives the reason of a list or a map to the part that has a pattern.
  private mutating func moveViolation() {
    guard !reason.isEmpty || !description.isEmpty else { return }
    if !keys.isEmpty {
      (keys[0].reason, keys[0].description) = (reason, description)
    } else if !elements.isEmpty {
      (elements[0].reason, elements[0].description) = (reason, description)
    } else {
      return
    }
    (reason, description) = ("", "")
  }

  private init(_ bytes: ArraySlice<UInt8>) throws {
    var pieces: [UInt64: [UInt8]] = [:]
    for (number, value) in try WireFields.read(bytes) {
      switch number {
      case 25: isRequired = try WireFields.number(value) != 0
      case 27:
        switch try WireFields.number(value) {
        case 0: break
        case 1: allowsZero = true
        default: isIgnored = true
        }
      case 1...6, 14, 15, 16, 18, 19, 21: pieces[number, default: []] += value
      default: throw ContractError("buf.validate.field rule \(number) is not supported")
      }
    }
    guard pieces.count <= 1 else { throw ContractError("has rules of several types") }
    guard let (number, value) = pieces.first else { return }
    let members = try WireFields.read(value[...])
    switch number {
    case 14:
      let rules = members.filter { $0.number != Self.textExample }
      examples = members.filter { $0.number == Self.textExample }.map { String(decoding: $0.value, as: UTF8.self) }
      // An example alone is not a rule.
      if examples.isEmpty || !rules.isEmpty { kind = try Self.text(rules) }
    case 15: kind = .bytes(try Self.bounds(members, min: 2, max: 3, of: "bytes"))
    case 16:
      let rules = members.filter { $0.number != Self.enumExample }
      examples = try members.filter { $0.number == Self.enumExample }.map { "\(try WireFields.number($0.value))" }
      if examples.isEmpty || !rules.isEmpty { kind = .enumeration(try EnumRules(rules)) }
    case 18: try list(members)
    case 19: try map(members)
    case 21: kind = .duration(try Self.secondsRange(members))
    default: kind = .number(try Self.range(members, type: number))
    }
  }

  private static func bounds(
    _ members: [(number: UInt64, value: ArraySlice<UInt8>)], min: UInt64, max: UInt64, of type: String
  ) throws -> Bounds {
    var bounds = Bounds()
    for (number, value) in members {
      switch number {
      case min: bounds.min = try WireFields.number(value)
      case max: bounds.max = try WireFields.number(value)
      default: throw ContractError("rule \(number) of \(type) is not supported")
      }
    }
    return bounds
  }

  private static func text(_ members: [(number: UInt64, value: ArraySlice<UInt8>)]) throws -> Kind {
    var (pattern, values): (String?, [String]) = (nil, [])
    for (number, value) in members {
      if number == 6 { pattern = String(decoding: value, as: UTF8.self) }
      if number == 10 { values.append(String(decoding: value, as: UTF8.self)) }
    }
    let characters = try bounds(members.filter { ![4, 5, 6, 10].contains($0.number) }, min: 2, max: 3, of: "string")
    let bytes = try bounds(members.filter { [4, 5].contains($0.number) }, min: 4, max: 5, of: "string")
    return .text(characters: characters, bytes: bytes, pattern: pattern, values: values)
  }

  private mutating func list(_ members: [(number: UInt64, value: ArraySlice<UInt8>)]) throws {
    for (number, value) in members where number == 4 { elements = [try FieldRules(value)] }
    let counts = members.filter { $0.number != 4 }
    kind = .repeated(try Self.bounds(counts, min: 1, max: 2, of: "repeated"))
  }

  private mutating func map(_ members: [(number: UInt64, value: ArraySlice<UInt8>)]) throws {
    for (number, value) in members {
      if number == 4 { keys = [try FieldRules(value)] }
      if number == 5 { elements = [try FieldRules(value)] }
    }
    let counts = members.filter { ![4, 5].contains($0.number) }
    kind = .map(try Self.bounds(counts, min: 1, max: 2, of: "map"))
  }
}
