/// The reason a text is not a valid container.
public struct ContainerError: Error, Sendable, Hashable, CustomStringConvertible {
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The stable name, UPPER_SNAKE.
    public let description: String

    private init(_ description: String) {
      self.description = description
    }

    /// The text is not valid JSON; `syntax` gives the reason.
    public static let syntax = Code("CONTAINER_SYNTAX")
    /// A value has a different type from the one that the apps decode.
    public static let wrongType = Code("CONTAINER_WRONG_TYPE")
    /// A member that the apps require is missing.
    public static let missingMember = Code("CONTAINER_MISSING_MEMBER")
    /// A string is not a date and time, or an id is empty.
    public static let invalidFormat = Code("CONTAINER_INVALID_FORMAT")
    /// Two records have the same id.
    public static let duplicateId = Code("CONTAINER_DUPLICATE_ID")
    /// More records than allowed.
    public static let recordsExceeded = Code("CONTAINER_RECORDS_EXCEEDED")
  }

  public var code: Code
  /// The invalid value, as a JSON Pointer (RFC 6901): `/notifications/3/actions/0/destructive`.
  public var path: String
  /// Where the check stopped.
  public var byteOffset: Int64
  /// One clause: `a bool is required, found a string`.
  public var reason: String
  /// The syntax error, if `code` is `syntax`.
  public var syntax: JSONSyntaxError?

  public init(_ code: Code, path: String, byteOffset: Int64, reason: String, syntax: JSONSyntaxError? = nil) {
    self.code = code
    self.path = path
    self.byteOffset = byteOffset
    self.reason = reason
    self.syntax = syntax
  }

  public var description: String { "\(code): \"\(path)\" at byte \(byteOffset): \(reason)" }
}
