import CampanileAPI
import SwiftCSV

/// The cells of a file, row by row.
struct CsvTableText: Sendable, Hashable {
  /// The names of the columns.
  var header: [String]
  /// The rows with their numbers; the header is row 1.
  var rows: [Row]

  struct Row: Sendable, Hashable {
    var number: Int32
    var cells: [String]
  }
}

/// Parses a file with SwiftCSV, and detects input that SwiftCSV would misread.
enum CsvParser {
  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// Parses a file. Blocks for long on large files: do not call it on an event loop.
  static func parse(_ file: [UInt8], rowsMax: Int) -> Result<CsvTableText, CsvError> {
    let bytes = file.starts(with: byteOrderMark) ? file.dropFirst(3) : file[...]
    guard String(validating: bytes, as: UTF8.self) != nil else {
      return .failure(
        .of(row: row(ofInvalid: bytes), reason: "ENCODING_INVALID", "the file must be UTF-8"))
    }
    guard bytes.count(where: { $0 == UInt8(ascii: "\"") }).isMultiple(of: 2) else {
      return .failure(.of(reason: "QUOTE_INVALID", "a quoted cell is not closed"))
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
        // Skip empty lines.
        guard cells != [""] else { return }
        rows.append(CsvTableText.Row(number: number, cells: cells.map { CsvGuard.unguarded(original($0)) }))
      }
    } catch {
      return .failure(
        .of(row: number + 1, reason: "QUOTE_INVALID", "a quoted cell must be followed by a comma or the end of the row")
      )
    }
    guard let header = rows.first else {
      return .failure(.of(reason: "FILE_EMPTY", "the file has no header"))
    }
    guard rows.count <= rowsMax + 1 else {
      return .failure(.of(reason: "TOO_MANY_ROWS", "a file may have at most \(rowsMax) rows"))
    }
    let names = header.cells.map { name in String(name.lowercased().filter { !$0.isWhitespace }) }
    return .success(CsvTableText(header: names, rows: Array(rows.dropFirst())))
  }

  /// Returns the delimiter. Spreadsheets in many European locales write semicolons.
  private static func delimiter(of text: String) -> CSVDelimiter {
    let first = text.prefix { !$0.isNewline }
    return !first.contains(",") && first.contains(";") ? .semicolon : .comma
  }

  /// Returns the row of the first byte that is not UTF-8.
  private static func row(ofInvalid bytes: ArraySlice<UInt8>) -> Int32 {
    var row: Int32 = 1
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      if String(validating: line, as: UTF8.self) == nil { return row }
      row += 1
    }
    return row
  }

  /// Returns a text with one character for each byte; bytes beyond ASCII become letters. SwiftCSV compares characters,
  /// and would not find a quote or comma that is followed by a combining mark.
  private static func bytewise(_ bytes: ArraySlice<UInt8>) -> String {
    var text = ""
    text.reserveCapacity(bytes.count * 2)
    for byte in bytes {
      text.unicodeScalars.append(byte < 0x80 ? UnicodeScalar(byte) : UnicodeScalar(byte).letter)
    }
    return text
  }

  /// Decodes a cell that `bytewise` has encoded.
  private static func original(_ cell: String) -> String {
    String(decoding: cell.unicodeScalars.lazy.map { UInt8(truncatingIfNeeded: $0.value) }, as: UTF8.self)
  }
}

extension UnicodeScalar {
  /// U+0180 to U+01FF for U+0080 to U+00FF: letters, which do not combine and are neither spaces nor line breaks.
  fileprivate var letter: UnicodeScalar { UnicodeScalar(value + 0x100) ?? self }
}
extension CsvError: Error {}
