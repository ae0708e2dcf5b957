/// A value that has been validated against its setting's kind.
enum SettingValue: Sendable, Hashable {
  case string(String)
  case int(Int)
  case double(Double)
  case bool(Bool)
  case list([String])
  case secret(Secret)
}

extension Setting.Kind {
  /// Parses a value as written by a user; returns nil if it has the wrong type or is out of range.
  func parse(_ text: String) -> SettingValue? {
    switch self {
    case .string(let maximumBytes):
      return text.utf8.count <= maximumBytes ? .string(text) : nil
    case .int(let range):
      guard let number = Int(text), range.contains(number) else { return nil }
      return .int(number)
    case .double(let range):
      guard let number = Double(text), number.isFinite, range.contains(number) else { return nil }
      return .double(number)
    case .bool:
      switch text.lowercased() {
      case "true", "yes", "1", "on": return .bool(true)
      case "false", "no", "0", "off": return .bool(false)
      default: return nil
      }
    case .choice(let words):
      return words.contains(text) ? .string(text) : nil
    case .list(let maximumCount):
      let words = text.split(separator: ",").map { $0.trimmingSpaces() }.filter { !$0.isEmpty }
      return words.count <= maximumCount ? .list(words) : nil
    case .path:
      let isUsable = !text.isEmpty && text.utf8.count <= 4096 && !text.utf8.contains(0)
      return isUsable ? .string(text) : nil
    case .secret:
      return text.isEmpty || text.utf8.count > Secret.maximumBytes ? nil : .secret(Secret(text))
    }
  }

  /// The allowed values, for error messages and `--help`.
  var allowed: String {
    switch self {
    case .string(let maximumBytes): "text of at most \(maximumBytes) bytes"
    case .int(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
    case .double(let range): "a number from \(range.lowerBound) to \(range.upperBound)"
    case .bool: "true or false"
    case .choice(let words): "one of " + words.joined(separator: ", ")
    case .list(let maximumCount): "at most \(maximumCount) words joined by commas"
    case .path(let isPrivate): isPrivate ? "the path of a file with mode 0600" : "a path"
    case .secret: "a secret of 1 to \(Secret.maximumBytes) bytes"
    }
  }
}

extension SettingValue {
  /// The value in the form of `--print-config`.
  var text: String {
    switch self {
    case .string(let text): text
    case .int(let number): String(number)
    case .double(let number): String(number)
    case .bool(let isOn): String(isOn)
    case .list(let words): words.joined(separator: ",")
    case .secret(let secret): secret.description
    }
  }
}

extension StringProtocol {
  /// Returns the text without leading and trailing spaces and tabs.
  func trimmingSpaces() -> String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
      return ""
    }
    return String(self[first...last])
  }
}
