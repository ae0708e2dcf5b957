/// A JSON text as a tree that preserves its notation: numbers and strings as written, the order of members, and
/// duplicate names. Serialising a parsed text changes only its white space.
///
/// `==` and hashing compare values (RFC 6902, section 4.6). Numbers are compared by value: `1`, `1.0` and `10e-1` are
/// equal. Strings are compared by their unescaped code points. The order of elements matters, the order of members does
/// not.
///
/// Values from `parse` are at most `JSONLimits.depthMax` deep. Recursive functions rely on that: values built in code
/// must not be deeper than `JSONLimits.depthCeiling`.
public enum JSONValue: Sendable {
  case null
  case bool(Bool)
  case number(JSONNumber)
  case string(JSONString)
  case array([JSONValue])
  case object(JSONObject)

  /// A string with this value.
  public static func string(_ text: String) -> JSONValue { .string(JSONString(text)) }

  /// An integer.
  public static func number(_ value: Int) -> JSONValue { .number(JSONNumber(value)) }

  /// The member `name` of an object; nil for other values and if there is none.
  public subscript(_ name: String) -> JSONValue? {
    if case .object(let object) = self { return object[name] }
    return nil
  }

  /// The characters of a string; nil for other values.
  public var text: String? {
    if case .string(let string) = self { return string.value }
    return nil
  }

  /// The elements of an array; nil for other values.
  public var elements: [JSONValue]? {
    if case .array(let elements) = self { return elements }
    return nil
  }

  /// The type of the value.
  public var kind: JSONSummary.Kind {
    switch self {
    case .null: .null
    case .bool: .bool
    case .number: .number
    case .string: .string
    case .array: .array
    case .object: .object
    }
  }
}

extension JSONValue: Hashable {
  public static func == (left: JSONValue, right: JSONValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.number(let left), .number(let right)): left == right
    case (.string(let left), .string(let right)): left == right
    case (.array(let left), .array(let right)): left == right
    case (.object(let left), .object(let right)): left == right
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
    switch self {
    case .null: break
    case .bool(let value): hasher.combine(value)
    case .number(let number): hasher.combine(number)
    case .string(let string): hasher.combine(string)
    case .array(let elements): hasher.combine(elements)
    case .object(let object): hasher.combine(object)
    }
  }
}
