/// A failure to start, reported as one line. The exit code is 1.
public struct StartupError: Error, Sendable, Hashable, CustomStringConvertible {
  public var message: String

  public init(_ message: String) {
    self.message = message
  }

  public var description: String { message }
}
