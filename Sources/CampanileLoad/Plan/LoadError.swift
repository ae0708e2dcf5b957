/// An invalid option or input of a load test.
public struct LoadError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A stable code for programs.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    public let description: String
    private init(_ name: String) { description = name }

    public static let planInvalid = Code("LOAD_PLAN_INVALID")
    public static let rateInvalid = Code("LOAD_RATE_INVALID")
    public static let requestInvalid = Code("LOAD_REQUEST_INVALID")
    public static let thresholdInvalid = Code("LOAD_THRESHOLD_INVALID")
    public static let reportInvalid = Code("LOAD_REPORT_INVALID")
  }

  public var code: Code
  /// The option or the position in the input, for example `--rate` or `line 3`.
  public var field: String
  public var reason: String

  public init(_ code: Code, field: String, reason: String) {
    self.code = code
    self.field = field
    self.reason = reason
  }

  public var description: String { "\(field): \(reason)" }
}
