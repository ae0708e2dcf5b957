internal import Foundation

/// Properties of the terminal that the CLI writes to.
public enum Terminal {
  /// A colour or style of the terminal's palette (ECMA-48 SGR).
  public enum Colour: Int, Sendable, Hashable, CaseIterable {
    case red = 31
    case green = 32
    case yellow = 33
    case blue = 34
    case magenta = 35
    case cyan = 36
    case dim = 2
    case bold = 1

    public var start: String { "\u{1b}[\(rawValue)m" }
    public static let end = "\u{1b}[0m"

    /// Returns `text` in this colour if `isOn`, otherwise unchanged.
    public func paint(_ text: String, if isOn: Bool) -> String { isOn ? start + text + Self.end : text }
  }

  /// Returns whether to use colours on `descriptor`.
  ///
  /// It must be a terminal, `NO_COLOR` (no-color.org) must be unset or empty, and `TERM` must not be `dumb`.
  public static func isColoured(
    descriptor: Int32, environment: [String: String]? = nil
  ) -> Bool {
    let environment = environment ?? ProcessInfo.processInfo.environment
    return isTerminal(descriptor) && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
  }

  public static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// Returns the size of the terminal in cells, or nil if `descriptor` is not a terminal or the size is unknown.
  static func size(_ descriptor: Int32) -> (columns: Int, rows: Int)? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
    return (Int(size.ws_col), Int(size.ws_row))
  }
}

/// Writes whole lines to standard output or standard error.
public enum Console {
  /// Writes `bytes` and a newline to standard output.
  ///
  /// - Throws: `POSIXError`; EPIPE if the reader has closed the pipe.
  public static func writeLine(_ bytes: some Sequence<UInt8>) throws {
    try write(Array(bytes) + [UInt8(ascii: "\n")], to: STDOUT_FILENO)
  }

  public static func writeLine(_ text: String) throws { try writeLine(text.utf8) }

  /// Writes a line to standard error. Ignores failures, because there is nowhere left to report them.
  public static func note(_ text: String) {
    try? write(Array((text + "\n").utf8), to: STDERR_FILENO)
  }

  static func write(_ bytes: [UInt8], to descriptor: Int32) throws {
    var offset = 0
    while offset < bytes.count {
      let written = bytes.withUnsafeBytes { raw in
        #if canImport(Glibc)
          Glibc.write(descriptor, raw.baseAddress.map { $0 + offset }, bytes.count - offset)
        #else
          Darwin.write(descriptor, raw.baseAddress.map { $0 + offset }, bytes.count - offset)
        #endif
      }
      if written > 0 {
        offset += written
      } else if errno != EINTR && errno != EAGAIN {
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
      }
    }
  }
}
