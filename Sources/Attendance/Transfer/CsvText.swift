/// Writes cells and rows as RFC 4180 has them, in UTF-8.
enum CsvText {
  /// Appends a row with its end.
  static func append(_ cells: [String], to out: inout [UInt8]) {
    for (index, cell) in cells.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      append(cell, to: &out)
    }
    endRow(&out)
  }

  static func endRow(_ out: inout [UInt8]) {
    out.append(UInt8(ascii: "\r"))
    out.append(UInt8(ascii: "\n"))
  }

  /// Appends a cell, made harmless for spreadsheets, in quotes unless it is plain.
  static func append(_ cell: String, to out: inout [UInt8]) {
    let isGuarded = needsGuard(cell)
    if !isGuarded, isPlain(cell) {
      out += cell.utf8
      return
    }
    out.append(UInt8(ascii: "\""))
    if isGuarded { out.append(UInt8(ascii: "'")) }
    for byte in cell.utf8 {
      if byte == UInt8(ascii: "\"") { out.append(byte) }
      out.append(byte)
    }
    out.append(UInt8(ascii: "\""))
  }

  /// What a cell was before it was made harmless.
  static func unguarded(_ cell: String) -> String {
    guard cell.utf8.first == UInt8(ascii: "'") else { return cell }
    // By bytes: the character may have more.
    let rest = String(decoding: cell.utf8.dropFirst(), as: UTF8.self)
    return needsGuard(rest) ? rest : cell
  }

  /// Whether a spreadsheet would take a cell for a formula, or whether it looks like one that was made harmless: that one
  /// gets a ' too, so that taking it away gives back what was there.
  static func needsGuard(_ cell: String) -> Bool {
    guard let first = cell.utf8.first(where: { $0 != UInt8(ascii: "'") }) else { return false }
    switch first {
    case UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "@"), 0x09, 0x0D: return true
    default: return false
    }
  }

  /// Letters, digits and a few marks of ASCII, with spaces between them: everything else is quoted, which is always right.
  private static func isPlain(_ cell: String) -> Bool {
    guard cell.utf8.first != UInt8(ascii: " "), cell.utf8.last != UInt8(ascii: " ") else { return false }
    return cell.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: " "), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: ":"), UInt8(ascii: "-"), UInt8(ascii: "/"), UInt8(ascii: "@"):
        true
      default: false
      }
    }
  }
}
