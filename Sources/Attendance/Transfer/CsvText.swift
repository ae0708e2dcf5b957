/// Writes cells and rows as defined by RFC 4180, in UTF-8, with a comma or another separator.
enum CsvText {
  /// Appends a row with its line break.
  static func append(_ cells: [String], separator: UInt8 = UInt8(ascii: ","), to out: inout [UInt8]) {
    for (index, cell) in cells.enumerated() {
      if index > 0 { out.append(separator) }
      append(cell, to: &out)
    }
    endRow(&out)
  }

  static func endRow(_ out: inout [UInt8]) {
    out.append(UInt8(ascii: "\r"))
    out.append(UInt8(ascii: "\n"))
  }

  /// Appends a cell, guarded against formulas, and quoted unless it is plain.
  static func append(_ cell: String, to out: inout [UInt8]) {
    if isPlain(cell) {
      out += cell.utf8
      return
    }
    out.append(UInt8(ascii: "\""))
    for byte in CsvGuard.guarded(cell) {
      if byte == UInt8(ascii: "\"") { out.append(byte) }
      out.append(byte)
    }
    out.append(UInt8(ascii: "\""))
  }

  /// Whether a cell needs no quotes: it has only ASCII letters, digits, a few marks and inner spaces, and cannot begin
  /// a formula. Everything else is quoted, which is always valid.
  private static func isPlain(_ cell: String) -> Bool {
    switch cell.utf8.first {
    case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "@"): return false
    default: break
    }
    guard cell.utf8.last != UInt8(ascii: " ") else { return false }
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
