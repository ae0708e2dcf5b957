public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Serves `campanile.notifications.v1.EngagementService`: reports by devices, and their counts for publishers.
public struct EngagementService: EngagementServiceProtocol {
  let repository: SQLiteNotificationsRepository
  let limits: NotificationsLimits
  let hub: WatchHub
  /// The key from which the keys of receipts are derived.
  let receiptSecret: [UInt8]

  public func batchReportEngagement(
    _ request: BatchReportEngagementRequest, context: CallContext
  ) async throws -> BatchReportEngagementResponse {
    try request.checkConstraints()
    let drafts = request.reports.enumerated().map { index, report in
      Result { () throws(RPCError) in try draft(report, "reports[\(index)].") }
    }
    let results = try await record(drafts)
    return BatchReportEngagementResponse(
      results: results.map { result in
        switch result {
        case .success(let isNew): .init(outcome: .engagement(.init(isNew: isNew)))
        case .failure(let error): .init(outcome: .error(error.batchError))
        }
      })
  }

  public func batchRecordEngagement(
    _ request: BatchRecordEngagementRequest, context: CallContext
  ) async throws -> BatchRecordEngagementResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    let drafts = request.reports.enumerated().map { index, report in
      Result { () throws(RPCError) in try draft(report, "reports[\(index)].", user: user) }
    }
    let results = try await record(drafts)
    return BatchRecordEngagementResponse(
      results: results.map { result in
        switch result {
        case .success(let isNew): .init(outcome: .engagement(.init(isNew: isNew)))
        case .failure(let error): .init(outcome: .error(error.batchError))
        }
      })
  }

  public func getNotificationEngagement(
    _ request: GetNotificationEngagementRequest, context: CallContext
  ) async throws -> GetNotificationEngagementResponse {
    let user = try context.requireUser()
    return GetNotificationEngagementResponse(
      engagement: try await repository.engagement(of: request.notificationId, user: user))
  }

  public func listBucketEngagement(
    _ request: ListBucketEngagementRequest, context: CallContext
  ) async throws -> ListBucketEngagementResponse {
    let user = try context.requireUser()
    let query = EngagementQuery(
      bucketID: request.bucketId,
      page: try PositionQuery(
        user: user, pageSize: request.pageSize, pageToken: request.pageToken, scope: ["engagement", request.bucketId],
        parts: 1, limits: limits))
    let (found, totals, token) = try await repository.bucketEngagement(query)
    let (notifications, nextPageToken) = query.page.page(found) { [$0.notificationId] }
    return ListBucketEngagementResponse(
      notifications: notifications, nextPageToken: nextPageToken, totals: totals,
      resumeToken: token.text(user: EngagementQuery.scope(request.bucketId, user: user)))
  }

  public func listEngagementChanges(
    _ request: ListEngagementChangesRequest, context: CallContext
  ) async throws -> ListEngagementChangesResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    var position = try await repository.engagementStart(
      resumeToken: request.resumeToken, bucketID: request.bucketId, user: user)
    let pageSize = Paging.size(request.pageSize, limits)
    let rows = try await repository.engagementChanges(
      after: position.sequence, bucketID: request.bucketId, user: user, rowsMax: pageSize + 1)
    let page = rows.prefix(request.resumeToken.isEmpty ? 0 : pageSize)
    if let last = page.last { position.sequence = last.sequence }
    return ListEngagementChangesResponse(
      changes: page.map(\.change),
      resumeToken: position.text(user: EngagementQuery.scope(request.bucketId, user: user)),
      hasMore: rows.count > page.count)
  }

  public func watchEngagementChanges(
    _ request: WatchEngagementChangesRequest, context: CallContext,
    responses: ResponseSink<WatchEngagementChangesResponse>
  ) async throws {
    let user = try context.requireUser()
    let watch = EngagementWatch(repository: repository, hub: hub, pageRows: limits.watchPageRows)
    try await watch.run(request, user: user) { try await responses.send($0) }
  }

  /// Records the reports and wakes the watches of publishers. Fields of errors begin with the entry.
  private func record(
    _ drafts: [Result<EngagementDraft, RPCError>]
  ) async throws -> [Result<Bool, RPCError>] {
    let (results, publishers) = try await repository.recordEngagement(drafts)
    for user in publishers { hub.notify(user: user) }
    return results.enumerated().map { index, result in
      // Errors of drafts have their whole path already.
      if case .failure = drafts[index] { return result }
      return result.mapError { $0.inside("reports[\(index)].") }
    }
  }

  /// Returns the report of a device that has nothing but a push. Throws UNAUTHENTICATED, reason `RECEIPT_INVALID`.
  private func draft(_ report: ReceiptReport, _ path: String) throws(RPCError) -> EngagementDraft {
    var violations = Violations()
    report.validate(path, into: &violations)
    EngagementRules.check(report.kind, actionID: report.actionId, path, &violations)
    try violations.check()
    guard let receipt = PushReceipt(report.receipt, secret: receiptSecret) else {
      throw RPCError(
        .unauthenticated, "the receipt is not valid", .receiptInvalid,
        fieldViolations: [
          .init(field: "\(path)receipt", description: "is not valid", reason: Reason.receiptInvalid.rawValue)
        ])
    }
    return EngagementDraft(
      user: receipt.userID, notificationID: receipt.notificationID, deviceID: receipt.deviceID, pushID: receipt.pushID,
      kind: report.kind, actionID: report.actionId, eventTimeMs: report.eventTime?.millisecondsSince1970)
  }

  private func draft(_ report: EngagementReport, _ path: String, user: String) throws(RPCError) -> EngagementDraft {
    var violations = Violations()
    report.validate(path, into: &violations)
    EngagementRules.check(report.kind, actionID: report.actionId, path, &violations)
    try violations.check()
    return EngagementDraft(
      user: user, notificationID: report.notificationId, deviceID: report.deviceId, pushID: "", kind: report.kind,
      actionID: report.actionId, eventTimeMs: report.eventTime?.millisecondsSince1970)
  }
}
