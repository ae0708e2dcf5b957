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
    guard let text = String(validating: bytes, as: UTF8.self) else {
      return .failure(
        .of(row: row(ofInvalid: bytes), reason: "ENCODING_INVALID", "the file must be UTF-8"))
    }
    if let row = row(ofHiddenMark: text) {
      return .failure(.of(row: row, reason: "CELL_INVALID", "a cell must not begin with a combining character"))
    }
    guard bytes.count(where: { $0 == UInt8(ascii: "\"") }).isMultiple(of: 2) else {
      return .failure(.of(reason: "QUOTE_INVALID", "a quoted cell does not end"))
    }
    var rows: [CsvTableText.Row] = []
    var number: Int32 = 0
    do {
      let csv = try CSV<Enumerated>(
        string: text.hasSuffix("\n") ? text : text + "\n", delimiter: delimiter(of: text), loadColumns: false,
        rowLimit: 0)
      try csv.enumerateAsArray(startAt: 0, rowLimit: rowsMax + 2) { cells in
        number += 1
        // An empty line is no row.
        if cells != [""] { rows.append(CsvTableText.Row(number: number, cells: cells.map(CsvText.unguarded))) }
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

  /// The row of a quote or delimiter that forms one character with what follows, which a parser of characters passes over.
  private static func row(ofHiddenMark text: String) -> Int32? {
    var row: Int32 = 1
    for character in text {
      if character.isNewline { row += 1 }
      guard character.unicodeScalars.count > 1, let first = character.unicodeScalars.first else { continue }
      if first == "\"" || first == "," || first == ";" { return row }
    }
    return nil
  }
}
extension CsvError: Error {}
