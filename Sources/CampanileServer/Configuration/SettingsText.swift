extension SettingsLoader {
  /// Returns the text of `--help`: the sources of settings and a table of all settings.
  func helpText() -> String {
    var lines = [
      "\(executable) \(version)",
      "",
      "Settings are read from flags, then the environment, then the JSON file given with --config, then defaults.",
      "For example, --log-level is \(environmentPrefix)LOG_LEVEL in the environment and \"log-level\" in the file.",
      "",
    ]
    var rows: [[String]] = settings.map { setting in
      let flag = setting.isSecret ? setting.environmentName : setting.flag
      return [flag, setting.defaultValue ?? "-", "\(setting.help) (\(setting.kind.allowed))"]
    }
    rows.append(["--print-config", "-", "print the effective settings with their origins, and exit"])
    rows.append(["--version", "-", "print the version, and exit"])
    rows.append(["--help, -h", "-", "print this help, and exit"])
    lines.append(contentsOf: Self.table([["setting", "default", "meaning"]] + rows))
    return lines.joined(separator: "\n") + "\n"
  }

  /// Pads all columns except the last to their widest cell.
  static func table(_ rows: [[String]]) -> [String] {
    var widths: [Int] = []
    for row in rows {
      for (index, cell) in row.enumerated() {
        if index < widths.count { widths[index] = max(widths[index], cell.count) } else { widths.append(cell.count) }
      }
    }
    return rows.map { row in
      row.enumerated().map { index, cell in
        index == row.count - 1 ? cell : cell + String(repeating: " ", count: widths[index] - cell.count)
      }.joined(separator: "  ")
    }
  }
}

extension Settings {
  /// Returns the text of `--print-config`: a line per setting with its value and origin, with secrets redacted.
  func printed() -> String {
    let rows = order.compactMap { key -> [String]? in
      guard let entry = entries[key] else { return nil }
      return [key, entry.value?.text.singleLine ?? "-", entry.origin.description]
    }
    return SettingsLoader.table([["setting", "value", "origin"]] + rows).joined(separator: "\n") + "\n"
  }
}
