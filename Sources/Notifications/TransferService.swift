public import CampanileAPI
public import CampanileRPC
import CampanileService
import CampanileStore

/// Serves `campanile.notifications.v1.TransferService`: exports and imports all data of the calling user.
public struct TransferService: TransferServiceProtocol {
  let store: Store
  let limits: NotificationsLimits
  let notifier: CommitNotifier
  let clockMs: @Sendable () -> Int64

  public func exportUserData(
    _ request: ExportUserDataRequest, context: CallContext, responses: ResponseSink<ExportUserDataResponse>
  ) async throws {
    let user = try context.requireUser()
    try await UserExport(store: store, user: user).run { entry in
      let response = ExportUserDataResponse(entry: entry)
      try await responses.send(response)
    }
  }

  public func importUserData(
    _ requests: RequestStream<ImportUserDataRequest>, context: CallContext
  ) async throws -> ImportUserDataResponse {
    let user = try context.requireUser()
    var run = UserImport(store: store, user: user, limits: limits, notifier: notifier, clockMs: clockMs)
    for try await request in requests { try await run.add(request.entry) }
    return try await run.finish()
  }
}
