/// An argument of a statement: the five storage classes that SQLite and PostgreSQL share.
public enum SQLValue: Sendable, Hashable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])
}

extension SQLValue {
  /// An `Int` as a 64-bit integer.
  public static func int(_ value: Int) -> SQLValue { .integer(Int64(value)) }
  /// A boolean as 0 or 1.
  public static func bool(_ value: Bool) -> SQLValue { .integer(value ? 1 : 0) }
  /// NULL for nil.
  public static func integer(_ value: Int64?) -> SQLValue { value.map { .integer($0) } ?? .null }
  /// NULL for nil.
  public static func text(_ value: String?) -> SQLValue { value.map { .text($0) } ?? .null }
  /// NULL for nil.
  public static func blob(_ value: [UInt8]?) -> SQLValue { value.map { .blob($0) } ?? .null }
}

extension SQLValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByNilLiteral {
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(stringLiteral value: String) { self = .text(value) }
  public init(nilLiteral: ()) { self = .null }
}
