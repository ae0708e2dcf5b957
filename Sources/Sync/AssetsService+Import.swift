public import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileJSON
public import CampanileRPC
import CampanileService

extension AssetsService {
  public func importRecords(
    _ request: ImportRecordsRequest, context: CallContext
  ) async throws -> ImportRecordsResponse {
    let user = try context.requireUser(of: request.deviceId)
    var violations = Violations()
    request.validate(into: &violations)
    let zone = NameRules.zone(request.zoneId, &violations)
    NameRules.device(request.deviceId, "deviceId", &violations)
    if request.recordsJson.utf8.count > limits.inlineBytesMax {
      violations.add("recordsJson", "must have at most \(limits.inlineBytesMax) bytes", .contentTooLarge)
    }
    try violations.check()
    try await repository.requireWriter(request.deviceId, user: user)
    let atMs = repository.clockMs()
    let plan = try await documents.run { try ImportPlan(request.recordsJson, atMs: atMs) }
    var response = plan.response
    guard !request.validateOnly, !plan.isEmpty else { return response }
    let changes = plan.files.map { name, recordType, content in
      var put = PutDraft(recordType: recordType, syncTimeMs: nil, recordCount: 0, content: .inline(content))
      put.isMerge = true
      return ChangeDraft(name: name, etag: "", put: put, path: "")
    }
    do {
      let reply = try await commit(
        zone: zone, device: request.deviceId, changes, user: user,
        idempotency: try IdempotentRequest(
          request, id: \.requestId, method: AssetsServiceMethods.importRecords, user: user))
      response.assets = reply.results.compactMap(\.asset)
      response.exportEnded = reply.exportEnded
      return response
    } catch let error as RPCError where error.reason == Reason.mergeRefused.rawValue {
      throw RPCError.refused("recordsJson", "cannot be merged with the current files", .containerInvalid)
    }
  }
}
