import CPostgreSQL
import CampanileStore

/// A server's error in answer to one command.
struct ServerFailure {
  let command: Command
  let error: StoreError
  /// Whether the server ended the session.
  let endsSession: Bool

  /// The remedy for a missing privilege. The server's message names the table, in the language of its settings.
  private static let grantHint =
    "; the user needs SELECT, INSERT, UPDATE and DELETE on all tables, and migrations need their owner"

  /// Returns nil if libpq itself reports that the connection is lost.
  init?(_ result: OpaquePointer, _ command: Command, place: String) {
    guard let state = Self.field(result, UInt8(ascii: "C")) else { return nil }
    let severity = Self.field(result, UInt8(ascii: "V"))
    var message = Self.withoutValues(Self.field(result, UInt8(ascii: "M")) ?? "unknown error", state)
    if state == "42501" { message += Self.grantHint }
    self.command = command
    endsSession = severity == "FATAL" || severity == "PANIC"
    // Only the statement around such a change divides by zero.
    error =
      (state == "22012" ? command.missingRow : nil)
      ?? StoreError(Self.code(for: state), message, path: place, engineCode: state)
  }

  private static func field(_ result: OpaquePointer, _ code: UInt8) -> String? {
    PQresultErrorField(result, Int32(code)).map { String(cString: $0) }
  }

  /// Returns a message without the values that the server quotes in it. Its DETAIL is never used.
  static func withoutValues(_ message: String, _ state: String) -> String {
    // Data exceptions quote the value; parsers of search expressions quote the expression after a colon.
    let text = message.split(separator: ": \"", maxSplits: 1, omittingEmptySubsequences: false).first ?? ""
    guard state.hasPrefix("22") else { return String(text) }
    let parts = text.split(separator: "\"", omittingEmptySubsequences: false)
    return parts.enumerated().map { $0.offset.isMultiple(of: 2) ? String($0.element) : "…" }.joined()
  }

  /// Returns the kind of error for an SQLSTATE.
  static func code(for state: String) -> StoreError.Code {
    switch state {
    case "53100": return .diskFull
    case "57014": return .interrupted
    case "XX001", "XX002": return .corrupt
    case "40001", "40P01", "55P03": return .busy
    case "25006": return .unavailable
    default: break
    }
    switch state.prefix(2) {
    case "23": return .constraint
    case "53", "54": return .overloaded
    case "21", "22", "42": return .invalidArgument
    default: return .unavailable
    }
  }
}
