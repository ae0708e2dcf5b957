/// Escapes formulas in cells against execution by spreadsheets, and reverses this.
///
/// A spreadsheet treats a cell as a formula if it begins with `=`, `+`, `-`, `@` or their full-width forms. Where
/// semicolons, tabs or line breaks separate cells, a formula can begin after each of them. The guard inserts a `'`
/// before each such beginning, also before quotes, which such a spreadsheet removes. Text that already looks guarded
/// gets another `'`, so that removing one always restores the original.
enum CsvGuard {
  private static let mark = UInt8(ascii: "'")

  /// Returns the bytes of a cell with a `'` before each beginning of a formula.
  static func guarded(_ cell: String) -> [UInt8] {
    let bytes = Array(cell.utf8)
    var out: [UInt8] = []
    out.reserveCapacity(bytes.count + 4)
    for index in bytes.indices {
      if isBeginning(bytes, index), isFormula(bytes, index) { out.append(mark) }
      out.append(bytes[index])
    }
    return out
  }

  /// Returns the original of a guarded cell.
  static func unguarded(_ cell: String) -> String {
    // Compare bytes, because the mark and a following scalar may form one `Character`.
    let bytes = Array(cell.utf8)
    guard bytes.contains(mark) else { return cell }
    var out: [UInt8] = []
    out.reserveCapacity(bytes.count)
    for index in bytes.indices {
      let isGuard = bytes[index] == mark && isBeginning(bytes, index) && isFormula(bytes, index + 1, in: index)
      if !isGuard { out.append(bytes[index]) }
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// Whether a cell can begin at a byte in some spreadsheet.
  private static func isBeginning(_ bytes: [UInt8], _ index: Int) -> Bool {
    guard index > 0 else { return true }
    switch bytes[index - 1] {
    case UInt8(ascii: ";"), 0x09, 0x0A, 0x0D: return true
    default: return false
    }
  }

  /// Whether the start of a formula follows after any marks and quotes.
  ///
  /// - Parameter beginning: The index at which the cell begins, if not `index`. At index 0, a tab or carriage return
  ///   counts too.
  private static func isFormula(_ bytes: [UInt8], _ index: Int, in beginning: Int? = nil) -> Bool {
    guard let first = bytes[index...].firstIndex(where: { $0 != mark && $0 != UInt8(ascii: "\"") }) else {
      return false
    }
    switch bytes[first] {
    case UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "@"): return true
    case 0x09, 0x0D: return (beginning ?? index) == 0
    case 0xEF: return fullWidth.contains { bytes[first...].starts(with: $0) }
    default: return false
    }
  }

  private static let fullWidth = ["\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}"].map { Array($0.utf8) }
}
