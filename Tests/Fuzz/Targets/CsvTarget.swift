@testable import Attendance

/// An exported file can be imported again without changes to any cell, and every file is either read or refused.
let csvTarget = FuzzTarget("csv") { input in
  if case .success(let table) = CsvParser.parse(input, rowsMax: 100) {
    check([["name"]] + table.rows.map(\.cells))
  }
  guard let text = String(validating: input, as: UTF8.self) else { return }
  // Control characters separate rows and cells in the input.
  let rows = text.unicodeScalars.split(separator: "\u{1E}", omittingEmptySubsequences: false).prefix(20).map { row in
    row.split(separator: "\u{1F}", omittingEmptySubsequences: false).map { String($0) }
  }
  check([["name"]] + rows)
}

private func check(_ rows: [[String]]) {
  var file: [UInt8] = []
  for row in rows { CsvText.append(row, to: &file) }
  guard case .success(let table) = CsvParser.parse(file, rowsMax: rows.count) else {
    return require(false, "the exported file cannot be read: \(shown(file))")
  }
  // An empty line is not a row.
  let expected = rows.dropFirst().filter { $0 != [""] }
  require(table.rows.count == expected.count, "\(table.rows.count) rows of \(expected.count): \(shown(file))")
  for (row, cells) in zip(table.rows, expected) {
    require(row.cells.count == cells.count, "different number of cells: \(shown(file))")
    for (found, cell) in zip(row.cells, cells) {
      require(found.utf8.elementsEqual(cell.utf8), "\(shown(cell.utf8)) became \(shown(found.utf8))")
    }
  }
}
