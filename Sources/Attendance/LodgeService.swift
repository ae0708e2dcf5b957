public import CampanileAPI
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Serves `campanile.attendance.v1.LodgeService`.
public struct LodgeService: LodgeServiceProtocol {
  /// The number of verified entries after which a verification reports its progress.
  static let verifyTellRows: Int64 = 10_000

  let repository: any AttendanceRepository
  let access: AccessControl
  let limits: AttendanceLimits

  public func getLodgeSettings(
    _ request: GetLodgeSettingsRequest, context: CallContext
  ) async throws -> GetLodgeSettingsResponse {
    _ = try await access.caller(context, .member)
    return GetLodgeSettingsResponse(settings: try await repository.lodgeSettings())
  }

  public func updateLodgeSettings(
    _ request: UpdateLodgeSettingsRequest, context: CallContext
  ) async throws -> UpdateLodgeSettingsResponse {
    let caller = try await access.caller(context, .admin)
    let (change, fields) = try UpdateMask.change(
      request.settings, "settings", request.updateMask, LodgeRules.check(_:of:_:_:))
    return UpdateLodgeSettingsResponse(
      settings: try await repository.updateSettings(change, fields: fields, by: caller))
  }

  public func importCsv(
    _ requests: RequestStream<ImportCsvRequest>, context: CallContext
  ) async throws -> ImportCsvResponse {
    let caller = try await access.caller(context, .admin)
    var file = ImportFile(limits: limits)
    for try await request in requests {
      try file.take(request)
      // Stop reading a file that is already rejected.
      if file.isRefused { break }
    }
    return try await CsvImport(repository: repository, limits: limits).run(file, by: caller)
  }

  public func exportCsv(
    _ request: ExportCsvRequest, context: CallContext, responses: ResponseSink<ExportCsvResponse>
  ) async throws {
    let caller = try await access.caller(context, .secretary)
    try await caller.require(repository.lodgeSettings().exportRole)
    try request.checkConstraints()
    let format = CsvFormat(
      language: request.language, separator: request.separator, hasByteOrderMark: request.byteOrderMark)
    let export = CsvExport(repository: repository, limits: limits, caller: caller, format: format)
    try await export.run(request.table, year: Years.year(request.year)) { chunk in
      let response = ExportCsvResponse(chunk: chunk)
      try await responses.send(response)
    }
  }

  public func listAuditEntries(
    _ request: ListAuditEntriesRequest, context: CallContext
  ) async throws -> ListAuditEntriesResponse {
    let caller = try await access.caller(context, .admin)
    let query = try PositionQuery(
      user: caller.name, pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["audit", request.subject], parts: 1, limits: limits)
    let (entries, nextPageToken) = query.page(
      try await repository.auditEntries(query, subject: request.subject.isEmpty ? nil : request.subject)
    ) { [String($0.sequence)] }
    return ListAuditEntriesResponse(entries: entries, nextPageToken: nextPageToken)
  }

  public func verifyAuditLog(
    _ request: VerifyAuditLogRequest, context: CallContext, responses: ResponseSink<VerifyAuditLogResponse>
  ) async throws {
    _ = try await access.caller(context, .admin)
    var verifier = AuditVerifier(knownSequence: request.knownSequence, knownHash: request.knownHash)
    var reportedCount: Int64 = 0
    while verifier.fault == nil {
      let rows = try await repository.auditRows(after: verifier.lastSequence)
      if rows.isEmpty { break }
      for row in rows {
        guard try verifier.take(row) else { break }
      }
      if verifier.verified - reportedCount >= Self.verifyTellRows {
        reportedCount = verifier.verified
        try await responses.send(verifier.response(isFinished: false))
      } else {
        // Yield to other tasks on this event loop.
        await Task.yield()
      }
    }
    verifier.finish()
    try await responses.send(verifier.response(isFinished: true))
  }

  public func undoChange(_ request: UndoChangeRequest, context: CallContext) async throws -> UndoChangeResponse {
    let caller = try await access.caller(context, .admin)
    try request.checkConstraints()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: LodgeServiceMethods.undoChange, user: caller.name)
    return try await repository.undo(request.sequence, by: caller, idempotency: idempotency)
  }
}
