internal import CampanileAPI
internal import CampanileRPC

/// Takes the sample's lodge in, table by table. Rows that are there already stay as they are.
struct SampleLodge: Sendable {
  /// Text a chunk carries at most, in bytes.
  static let chunkBytes = 64 * 1024

  let service: LodgeServiceClient

  /// Answers a line about it. Throws the `RPCError` of the first row that is refused.
  func load(_ lodge: SampleFile.Lodge) async throws -> String {
    let members = try await take(.members, lodge.members)
    let meetings = try await take(.meetings, lodge.meetings)
    let records = try await take(.attendance, lodge.attendance)
    return "the lodge was given \(members) members, \(meetings) meetings and \(records) records of attendance"
  }

  private func take(_ table: CsvTable, _ text: String) async throws -> Int32 {
    let response = try await service.importCsv { sink in
      var first = ImportCsvRequest()
      var header = ImportCsvRequest.ImportHeader()
      header.table = table
      first.content = .header(header)
      try await sink.send(first)
      let bytes = Array(text.utf8)
      for start in stride(from: 0, to: bytes.count, by: Self.chunkBytes) {
        var piece = ImportCsvRequest()
        piece.content = .chunk(Array(bytes[start..<min(start + Self.chunkBytes, bytes.count)]))
        try await sink.send(piece)
      }
    }
    if let error = response.errors.first {
      throw RPCError(
        .invalidArgument, "the sample's lodge, row \(error.row), \(error.column): \(error.message)",
        reason: error.reason)
    }
    return response.rowCount
  }
}
