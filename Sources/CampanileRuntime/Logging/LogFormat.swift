/// The form of log lines.
public enum LogFormat: String, Sendable, Hashable, CaseIterable {
  /// One JSON object a line: `ts`, `level`, `logger`, `message`, and `metadata` when there is any.
  case json
  /// For people at a terminal, with colour.
  case pretty
}
