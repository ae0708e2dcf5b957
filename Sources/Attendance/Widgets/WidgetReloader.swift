import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore

/// Reloads the widgets of the members after upcoming meetings have changed, a page of members at a time.
///
/// The plan is stored with the change, and the progress after each page, so a restart loses no reload. A page may be
/// sent twice; the push service recognizes it by its request ids.
struct WidgetReloader: Sendable {
  /// Members whose widgets are reloaded between two commits.
  static let pageRows = 200
  static let inFlightMax = 8
  static let retryMs: Int64 = 30_000
  /// A reload that failed for so long is given up. Widgets also reload by themselves.
  static let ageMaxMs: Int64 = 24 * 3_600_000
  /// Failures of the push service as a whole. Any other one concerns a single member.
  private static let outages: [RPCError.Code] = [.unavailable, .deadlineExceeded, .resourceExhausted, .cancelled]

  let repository: SQLiteAttendanceRepository
  let sender: any WidgetReloading
  let signal: WakeSignal

  /// Runs until the task is cancelled.
  func run(log: @escaping @Sendable (String) -> Void) async {
    await signal.runRounds(retryMs: Self.retryMs, failed: { log("reloading widgets failed: \($0)") }) {
      if try await step(log: log) { return nil }
      let plannedMs = try await repository.read { try $0.plannedReload()?.dueMs }
      return AlarmSchedule.sleepMs(untilMs: plannedMs, nowMs: repository.clockMs())
    }
  }

  /// Reloads the widgets of the next page of members.
  ///
  /// - Returns: Whether a reload was due.
  func step(log: @escaping @Sendable (String) -> Void = { _ in }) async throws -> Bool {
    let nowMs = repository.clockMs()
    let (planned, members) = try await repository.read { transaction in
      guard let planned = try transaction.plannedReload(), planned.dueMs <= nowMs else {
        return (nil as PlannedReload?, [] as [NoticeMember])
      }
      let members = try transaction.query(
        NoticeTable.membersSQL, [.integer(planned.afterMember), .int(Self.pageRows)], rowsMax: Self.pageRows
      ) { try NoticeMember($0) }
      return (planned, members)
    }
    guard let planned else { return false }
    do {
      try await reload(members, planned, log: log)
    } catch is RPCError where nowMs - planned.dueMs > Self.ageMaxMs {
      log("widgets are not reloaded, because the push service has not responded for a day")
      // The push service would not respond for the remaining members either.
      try await settle(planned, last: nil)
      return true
    }
    try await settle(planned, last: members.count == Self.pageRows ? members.last?.number : nil)
    return true
  }

  /// Throws if the push service cannot be reached. An error that concerns one member is logged.
  private func reload(
    _ members: [NoticeMember], _ planned: PlannedReload, log: @escaping @Sendable (String) -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (index, member) in members.enumerated() {
        if index >= Self.inFlightMax { _ = try await group.next() }
        group.addTask {
          do {
            try await sender.reloadWidgets(of: member.user, requestID: planned.requestID(member: member.number))
          } catch let error where !Self.isOutage(error) {
            log("the widgets of a member were not reloaded: \(error)")
          }
        }
      }
      try await group.waitForAll()
    }
  }

  private static func isOutage(_ error: any Error) -> Bool {
    error is CancellationError || (error as? RPCError).map { outages.contains($0.code) } ?? false
  }

  /// Stores the progress, unless a newer change has planned the reload anew.
  private func settle(_ planned: PlannedReload, last: Int64?) async throws {
    try await repository.storeWrite { transaction in
      guard try transaction.plannedReload() == planned else { return }
      guard let last else {
        _ = try transaction.executeCounting(PlannedReload.dropSQL)
        return
      }
      var next = planned
      next.afterMember = last
      try transaction.execute(PlannedReload.putSQL, [.text(next.text)])
    }
  }
}
