import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService
import Dispatch

/// Imports a whole file, or reports its errors.
struct CsvImport: Sendable {
  /// Parsing takes long: one file at a time, on a dedicated thread.
  private static let queue = DispatchQueue(label: "attendance.import")

  let repository: any AttendanceRepository
  let limits: AttendanceLimits

  func run(_ file: ImportFile, by caller: AttendanceCaller) async throws -> ImportCsvResponse {
    guard let header = file.header else {
      throw RPCError.invalidField("header", "must come first", .required)
    }
    if let fault = file.fault { return Self.refused([fault], count: 1, rowCount: 0) }
    let bytes = file.bytes
    let rowsMax = limits.importRowsMax
    let rows = await withCheckedContinuation { continuation in
      Self.queue.async { continuation.resume(returning: Self.read(bytes, header.table, rowsMax: rowsMax)) }
    }
    guard rows.errors.isEmpty else {
      return Self.refused(rows.errors, count: rows.errorCount, rowCount: rows.rows.count)
    }
    return try await repository.importRows(
      rows, isDryRun: header.dryRun, by: caller, idempotency: try Self.idempotency(header, bytes, caller))
  }

  private static func read(_ bytes: [UInt8], _ table: CsvTable, rowsMax: Int) -> ImportRows {
    switch CsvParser.parse(bytes, rowsMax: rowsMax) {
    case .success(let text): return ImportReader(text, table: table).result
    case .failure(let error):
      var rows = ImportRows()
      rows.add(error)
      return rows
    }
  }

  static func refused(_ errors: [CsvError], count: Int32, rowCount: Int) -> ImportCsvResponse {
    ImportCsvResponse(rowCount: Int32(clamping: rowCount), errors: errors, errorCount: count)
  }

  /// Returns the idempotent form of the request, with the file's digest in place of the file.
  private static func idempotency(
    _ header: ImportCsvRequest.ImportHeader, _ bytes: [UInt8], _ caller: AttendanceCaller
  ) throws -> IdempotentRequest? {
    // A dry run changes nothing, so it needs no stored response.
    if header.requestId.isEmpty || header.dryRun { return nil }
    var requestWithoutID = ImportCsvRequest()
    do throws(CryptoError) {
      requestWithoutID.content = .chunk(
        [UInt8(truncatingIfNeeded: header.table.rawValue)] + (try SHA256.digest(bytes).bytes))
    } catch {
      throw RPCError(.internalError, "cannot hash the file")
    }
    return try IdempotentRequest(
      header.requestId, requestWithoutID, method: LodgeServiceMethods.importCsv, user: caller.name)
  }
}
