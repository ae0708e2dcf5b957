public import CampanileBase
import CampanileRPC

/// The text and exit code that report a failed call.
public enum ErrorReport {
  /// Returns lines for standard error: the status and message, then each field violation, then further details.
  ///
  /// ```
  /// INVALID_ARGUMENT: notification.title: must not be empty
  ///   field   notification.title: must not be empty (FIELD_INVALID)
  ///   reason  FIELD_INVALID
  /// ```
  public static func lines(for error: RPCError, isColoured: Bool = false) -> [String] {
    let status = Terminal.Colour.red.paint(error.code.name, if: isColoured)
    var lines = ["\(status): \(Terminal.printable(error.message))"]
    for violation in error.fieldViolations {
      let reason = violation.reason.isEmpty ? "" : " (\(Terminal.printable(violation.reason)))"
      let field = Terminal.Colour.cyan.paint(Terminal.printable(violation.field), if: isColoured)
      lines.append("  field   \(field): \(Terminal.printable(violation.description))\(reason)")
    }
    if error.reason != error.code.name { lines.append("  reason  \(Terminal.printable(error.reason))") }
    for (key, value) in error.errorMetadata.sorted(by: { $0.key < $1.key }) {
      lines.append("  detail  \(Terminal.printable(key)) = \(Terminal.printable(value))")
    }
    if let retryAfterMs = error.retryAfterMs, retryAfterMs > 0 {
      lines.append("  retry   after \(retryAfterMs) ms")
    }
    return lines
  }

  /// Returns the exit code: the gRPC status number, 1 to 16.
  public static func exitCode(for error: RPCError) -> Int32 { Int32(error.code.rawValue) }
}
