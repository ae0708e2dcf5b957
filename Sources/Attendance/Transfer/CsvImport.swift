import CampanileAPI
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService
import Dispatch

/// Takes a whole file in, or says what is wrong with it.
struct CsvImport: Sendable {
  /// Parsing is long work: one file at a time, on a thread of its own.
  private static let queue = DispatchQueue(label: "attendance.import")

  let repository: any AttendanceRepository
  let limits: AttendanceLimits

  func run(_ file: ImportFile, by caller: Caller) async throws -> ImportCsvResponse {
    guard let header = file.header else {
      throw RPCError.invalidField("header", "must come first", reason: Reason.required.rawValue)
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
      rows, isDryRun: header.dryRun, by: caller, repeatable: try Self.repeatable(header, bytes, caller))
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
    .with {
      $0.rowCount = Int32(clamping: rowCount)
      $0.errors = errors
      $0.errorCount = count
    }
  }

  /// The file stands in the request by its digest.
  private static func repeatable(
    _ header: ImportCsvRequest.ImportHeader, _ bytes: [UInt8], _ caller: Caller
  ) throws -> RepeatableRequest? {
    // A dry run changes nothing, so that there is nothing to repeat.
    if header.requestId.isEmpty || header.dryRun { return nil }
    var unnamed = ImportCsvRequest()
    do throws(CryptoError) {
      unnamed.content = .chunk([UInt8(truncatingIfNeeded: header.table.rawValue)] + (try SHA256.digest(bytes).bytes))
    } catch {
      throw RPCError(.internalError, "the file cannot be hashed")
    }
    return try RepeatableRequest(
      header.requestId, unnamed, method: LodgeServiceMethods.importCsv, user: caller.name)
  }
}
