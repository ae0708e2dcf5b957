import CampanileAPI
import SwiftCSV

/// The cells of a file, row by row.
struct CsvTableText: Sendable, Hashable {
  /// The names of the columns.
  var header: [String]
  /// Each with its number, counted from 1 with the header's.
  var rows: [Row]

  struct Row: Sendable, Hashable {
    var number: Int32
    var cells: [String]
  }
}

/// Takes a file apart with SwiftCSV, and finds what that would read as something else.
enum CsvParser {
  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// Blocks for long on large files: call it away from event loops.
  static func parse(_ file: [UInt8], rowsMax: Int) -> Result<CsvTableText, CsvError> {
    let bytes = file.starts(with: byteOrderMark) ? file.dropFirst(3) : file[...]
    guard String(validating: bytes, as: UTF8.self) != nil else {
      return .failure(
        .of(row: row(ofInvalid: bytes), reason: "ENCODING_INVALID", "the file must be UTF-8"))
    }
    guard bytes.count(where: { $0 == UInt8(ascii: "\"") }).isMultiple(of: 2) else {
      return .failure(.of(reason: "QUOTE_INVALID", "a quoted cell does not end"))
    }
    let text = bytewise(bytes)
    var rows: [CsvTableText.Row] = []
    var number: Int32 = 0
    do {
      let csv = try CSV<Enumerated>(
        string: bytes.last == UInt8(ascii: "\n") ? text : text + "\n", delimiter: delimiter(of: text),
        loadColumns: false,
        rowLimit: 0)
      try csv.enumerateAsArray(startAt: 0, rowLimit: rowsMax + 2) { cells in
        number += 1
        // An empty line is no row.
        guard cells != [""] else { return }
        rows.append(CsvTableText.Row(number: number, cells: cells.map { CsvText.unguarded(original($0)) }))
      }
    } catch {
      return .failure(
        .of(row: number + 1, reason: "QUOTE_INVALID", "after a quoted cell there must be a comma or the end of the row")
      )
    }
    guard let header = rows.first else {
      return .failure(.of(reason: "FILE_EMPTY", "the file has no header"))
    }
    guard rows.count <= rowsMax + 1 else {
      return .failure(.of(reason: "TOO_MANY_ROWS", "a file may have \(rowsMax) rows"))
    }
    let names = header.cells.map { name in String(name.lowercased().filter { !$0.isWhitespace }) }
    return .success(CsvTableText(header: names, rows: Array(rows.dropFirst())))
  }

  /// Spreadsheets of half of Europe write semicolons.
  private static func delimiter(of text: String) -> CSVDelimiter {
    let first = text.prefix { !$0.isNewline }
    return !first.contains(",") && first.contains(";") ? .semicolon : .comma
  }

  /// The row of the first byte that is not UTF-8.
  private static func row(ofInvalid bytes: ArraySlice<UInt8>) -> Int32 {
    var row: Int32 = 1
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      if String(validating: line, as: UTF8.self) == nil { return row }
      row += 1
    }
    return row
  }

  /// A text with a character of its own for each byte, those beyond ASCII as letters: SwiftCSV goes by characters, and a quote
  /// or comma before a combining mark would be one with it.
  private static func bytewise(_ bytes: ArraySlice<UInt8>) -> String {
    var text = ""
    text.reserveCapacity(bytes.count * 2)
    for byte in bytes {
      text.unicodeScalars.append(byte < 0x80 ? UnicodeScalar(byte) : UnicodeScalar(byte).letter)
    }
    return text
  }

  /// The text of which a cell has the bytes, as `bytewise` wrote them.
  private static func original(_ cell: String) -> String {
    String(decoding: cell.unicodeScalars.lazy.map { UInt8(truncatingIfNeeded: $0.value) }, as: UTF8.self)
  }
}

extension UnicodeScalar {
  /// U+0180 to U+01FF for U+0080 to U+00FF: letters, which join nothing, and neither spaces nor ends of lines.
  fileprivate var letter: UnicodeScalar { UnicodeScalar(value + 0x100) ?? self }
}
extension CsvError: Error {}
