/// The format of log lines.
enum LogFormat: String, Sendable, Hashable, CaseIterable {
  /// One JSON object per line: `ts`, `level`, `logger`, `message`, and `metadata` if there is any.
  case json
  /// Coloured text for terminals.
  case pretty
}
