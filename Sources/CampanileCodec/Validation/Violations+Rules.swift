// The rules that generated code calls. Lengths are counted in Unicode code points, as `buf.validate` does. `name` is
// the lowerCamelCase name of the field, or empty for an element or an entry.

extension Violations {
  /// Checks a text's length. A text must not contain U+0000, which PostgreSQL rejects and which ends a C string.
  @inlinable
  public mutating func text(
    _ value: String, _ name: @autoclosure () -> String, min: Int = 0, max: Int = .max
  ) {
    let sizeBytes = value.utf8.count
    // Every code point has one to four bytes, so most texts need no counting.
    if sizeBytes <= max, sizeBytes >= min, min <= 1, sizeBytes == 0 || !Self.containsNUL(value) { return }
    invalidText(value, name(), min: min, max: max)
  }

  @usableFromInline
  static func containsNUL(_ text: String) -> Bool {
    // Does not retain the text, unlike `withUTF8` on a copy.
    text.utf8.withContiguousStorageIfAvailable(JSONBytes.containsZero) ?? text.utf8.contains(0)
  }

  @usableFromInline
  mutating func invalidText(_ value: String, _ name: String, min: Int, max: Int) {
    if value.isEmpty {
      if min > 0 { add(name, "must not be empty", .required) }
      return
    }
    let count = value.unicodeScalars.count
    if count > max {
      add(name, "must have at most \(max) characters", .tooLong)
    } else if count < min {
      add(name, "must have at least \(min) characters", .tooShort)
    } else if Self.containsNUL(value) {
      add(name, "must not contain U+0000", .textInvalid)
    }
  }

  /// Checks a text's size in bytes of UTF-8, and that it does not contain U+0000.
  @inlinable
  public mutating func textBytes(_ value: String, _ name: StaticString, min: Int = 0, max: Int = .max) {
    let sizeBytes = value.utf8.count
    if sizeBytes <= max, sizeBytes >= min, !Self.containsNUL(value) { return }
    invalidBytes(value, name, min: min, max: max)
  }

  @usableFromInline
  mutating func invalidBytes(_ value: String, _ name: StaticString, min: Int, max: Int) {
    let sizeBytes = value.utf8.count
    if sizeBytes > max {
      add("\(name)", "must have at most \(max) bytes of UTF-8", .tooLong)
    } else if sizeBytes < min {
      add("\(name)", "must have at least \(min) bytes of UTF-8", .tooShort)
    } else {
      add("\(name)", "must not contain U+0000", .textInvalid)
    }
  }

  /// Checks that a text matches a pattern completely.
  @inlinable
  public mutating func pattern(
    _ value: String, _ name: StaticString, _ pattern: TextPattern, _ description: StaticString, reason: StaticString
  ) {
    if !pattern.matches(value) { violation(name, description, reason) }
  }

  /// Checks that a text is one of these.
  @inlinable
  public mutating func oneOf(
    _ value: String, _ name: StaticString, _ values: [String], _ description: StaticString, reason: StaticString
  ) {
    // Unlike `==`, which treats canonically equivalent texts as equal.
    if !values.contains(where: { $0.utf8.elementsEqual(value.utf8) }) { violation(name, description, reason) }
  }

  @usableFromInline
  mutating func violation(_ name: StaticString, _ description: StaticString, _ reason: StaticString) {
    add("\(name)", "\(description)", Reason(rawValue: "\(reason)"))
  }

  /// Checks the size of a value of type `bytes`.
  @inlinable
  public mutating func bytes(_ value: [UInt8], _ name: StaticString, min: Int = 0, max: Int = .max) {
    if value.count > max {
      add("\(name)", "must have at most \(max) bytes", .tooLong)
    } else if value.count < min {
      add("\(name)", "must have at least \(min) bytes", value.isEmpty ? .required : .tooShort)
    }
  }

  /// Checks a number. NaN is outside every range.
  @inlinable
  public mutating func range<N: Comparable>(_ value: N, _ name: StaticString, from lowest: N, to highest: N) {
    if !(value >= lowest && value <= highest) { add("\(name)", "must be \(lowest) to \(highest)", .outOfRange) }
  }

  /// Checks a number without an upper bound.
  @inlinable
  public mutating func range<N: Comparable>(_ value: N, _ name: StaticString, from lowest: N) {
    if !(value >= lowest) { add("\(name)", "must be at least \(lowest)", .outOfRange) }
  }

  /// Checks a number without a lower bound.
  @inlinable
  public mutating func range<N: Comparable>(_ value: N, _ name: StaticString, to highest: N) {
    if !(value <= highest) { add("\(name)", "must be at most \(highest)", .outOfRange) }
  }

  /// Checks a duration against bounds in whole seconds.
  public mutating func duration(
    _ value: ProtoDuration, _ name: StaticString, from lowest: Int64 = .min, to highest: Int64 = .max
  ) {
    let given = value.normalized
    let (seconds, nanos) = (given.seconds, given.nanos)
    if seconds > lowest || seconds == lowest && nanos >= 0, seconds < highest || seconds == highest && nanos <= 0 {
      return
    }
    let bounds =
      highest == .max ? "at least \(lowest)" : lowest == .min ? "at most \(highest)" : "\(lowest) to \(highest)"
    add("\(name)", "must be \(bounds) seconds", .outOfRange)
  }

  /// Checks that an enum's value is named in the contract.
  @inlinable
  public mutating func enumeration<E: ProtoEnum>(_ value: E, _ name: StaticString) {
    guard value.protoName == nil else { return }
    let given = value.rawValue == JSONReader.unknownEnumNumber ? "the name" : "\(value.rawValue)"
    add("\(name)", "\(given) is not a value of \(E.self)", .enumUnknown)
  }

  /// Checks that an enum's value is one of these.
  @inlinable
  public mutating func enumeration<E: ProtoEnum>(_ value: E, _ name: StaticString, in numbers: [Int32]) {
    if !numbers.contains(value.rawValue) {
      unaccepted(value, name, "must be one of \(Self.names(of: numbers, E.self))")
    }
  }

  /// Checks that an enum's value is none of these.
  @inlinable
  public mutating func enumeration<E: ProtoEnum>(_ value: E, _ name: StaticString, notIn numbers: [Int32]) {
    if numbers.contains(value.rawValue) { unaccepted(value, name, "must not be \(Self.names(of: numbers, E.self))") }
  }

  @usableFromInline
  mutating func unaccepted<E: ProtoEnum>(_ value: E, _ name: StaticString, _ description: @autoclosure () -> String) {
    if value.rawValue == 0 { specified(value, name) } else { add("\(name)", description(), .enumUnknown) }
  }

  @usableFromInline
  static func names<E: ProtoEnum>(of numbers: [Int32], _: E.Type) -> String {
    numbers.map { "\(E(rawValue: $0).protoName.map { "\($0)" } ?? "\($0)")" }.joined(separator: ", ")
  }

  /// Checks that an enum's value is not the unspecified one.
  @inlinable
  public mutating func specified<E: ProtoEnum>(_ value: E, _ name: StaticString) {
    if value.rawValue == 0 { add("\(name)", "must be given", .enumUnspecified) }
  }

  /// Checks the number of entries of a list or a map.
  @inlinable
  public mutating func entries(_ count: Int, _ name: StaticString, min: Int = 0, max: Int = .max) {
    if count > max {
      add("\(name)", "must have at most \(max) entries", .tooMany)
    } else if count < min {
      add("\(name)", count == 0 ? "must not be empty" : "must have at least \(min) entries", .required)
    }
  }

  /// Adds the violation of a required field that is absent.
  public mutating func absent(_ name: StaticString) { add("\(name)", "must be given", .required) }
}
