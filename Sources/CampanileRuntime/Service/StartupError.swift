/// A failure to start, told in one line; the executable ends with 1.
public struct StartupError: Error, Sendable, Hashable, CustomStringConvertible {
  public var message: String

  public init(_ message: String) {
    self.message = message
  }

  public var description: String { message }
}
