import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// Exports users' notifications to the files of `ZentikSyncZone`, both files in one commit. A change is exported within
/// a second; changes that come together are exported once.
struct Exporter: Sendable {
  static let bucketsName = "buckets.json"
  static let notificationsName = "notifications.json"
  /// The maximum number of concurrent exports.
  static let inFlightMax = 4
  private static let batchMax = 64
  private static let staleTokenReasons = [Reason.resumeTokenInvalid.rawValue, Reason.tokenTooOld.rawValue]

  let queue: ExportQueue
  let link: any NotificationsLinking
  let assets: AssetsService
  /// The maximum number of notifications in a file; the newest are kept.
  let notificationsMax: Int
  let nowMs: @Sendable () -> Int64
  /// Signalled when users were added.
  let signal: WakeSignal
  let log: @Sendable (String) -> Void

  /// Follows the changes and exports files until the task is cancelled.
  func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await follow() }
      group.addTask { await write() }
    }
  }

  /// Records users whose data changes. Restarts the watch after a delay whenever it ends.
  private func follow() async {
    var pauseMs: Int64 = 250
    while !Task.isCancelled {
      do {
        if try queue.token().isEmpty { try await addAllUsers() }
        try await link.changedUsers(since: try queue.token()) { response in
          var users: [String] = []
          if case .change(let change) = response.event { users = change.userIds }
          try await queue.add(users, token: response.resumeToken)
          pauseMs = 250
          if !users.isEmpty { signal.notify() }
        }
      } catch let error as RPCError where Self.staleTokenReasons.contains(error.reason) {
        // This service was away for too long, or the other one was restored or replaced: list all users again.
        try? await queue.add([], token: "")
      } catch {
        // A regular end: the task is cancelled, or the connection is closed because this service stops.
        if Task.isCancelled { return }
        // The other service is shutting down; the next attempt shows whether it is back.
        if (error as? RPCError)?.reason != WatchHub.closed.reason {
          log("cannot follow the changes of notifications: \(error)")
        }
      }
      do { try await Task.sleep(for: .milliseconds(pauseMs)) } catch { return }
      pauseMs = min(pauseMs * 2, FeedLoop.retryMsMax)
    }
  }

  /// Adds all users. Changes after the first page are then read from its token.
  private func addAllUsers() async throws {
    var page = try await link.users(pageToken: "")
    let token = page.resumeToken
    while true {
      try await queue.add(page.userIds, token: nil)
      if !page.userIds.isEmpty { signal.notify() }
      if page.nextPageToken.isEmpty { break }
      page = try await link.users(pageToken: page.nextPageToken)
    }
    // Stored last, because an interrupted list must start over.
    try await queue.add([], token: token)
  }

  private func write() async {
    await signal.runRounds(retryMs: 1_000) {
      if try await step() > 0 { return nil }
      return AlarmSchedule.sleepMs(untilMs: try queue.nextDueMs(), nowMs: nowMs())
    }
  }

  /// Exports the files of all due users.
  ///
  /// - Returns: The number of due users.
  func step() async throws -> Int {
    let entries = try queue.due(countMax: Self.batchMax)
    try await withThrowingTaskGroup(of: Void.self) { group in
      var next = entries.makeIterator()
      for _ in 0..<Self.inFlightMax {
        guard let entry = next.next() else { break }
        group.addTask { try await export(entry) }
      }
      while try await group.next() != nil {
        if let entry = next.next() { group.addTask { try await export(entry) } }
      }
    }
    return entries.count
  }

  private func export(_ entry: ExportQueue.Entry) async throws {
    do {
      try await write(user: entry.user)
      try await queue.settle(entry)
    } catch {
      // Calls in a cancelled task fail with various errors; report the cancellation instead.
      try Task.checkCancellation()
      log("cannot write the files of a user: \(error)")
      try await queue.retry(entry)
    }
  }

  private func write(user: String) async throws {
    let (buckets, notifications) = try await link.containers(user: user, notificationsMax: notificationsMax)
    let atMs = nowMs()
    let files = [
      (Self.bucketsName, NameRules.bucketsType, ContainerWriter.buckets(buckets, atMs: atMs)),
      (Self.notificationsName, NameRules.notificationsType, ContainerWriter.notifications(notifications, atMs: atMs)),
    ]
    var isNew = false
    for (name, _, content) in files where !isNew { isNew = try await differs(name, content, user: user) }
    guard isNew else { return }
    try await assets.export(files, user: user)
  }

  /// Whether the asset differs from a file in its records. An unreadable asset counts as different.
  private func differs(_ name: String, _ content: [UInt8], user: String) async throws -> Bool {
    do {
      let current = try assets.repository.version(0, of: name, zone: NameRules.defaultZone, user: user)
      guard abs(current.sizeBytes - Int64(content.count)) < 64 else { return true }
      return !ContainerWriter.isSame(try await assets.content(of: current), content)
    } catch let error as RPCError where error.code == .notFound || error.code == .dataLoss { return true }
  }
}

extension AssetsService {
  /// Commits files that the service has generated: the name, record type and content of each.
  func export(_ files: [(String, String, [UInt8])], user: String) async throws {
    let changes = files.map { name, recordType, content in
      let put = PutDraft(recordType: recordType, syncTimeMs: nil, recordCount: 0, content: .inline(content))
      return ChangeDraft(name: name, etag: "", put: put, path: "")
    }
    var draft = CommitDraft(zone: NameRules.defaultZone, device: "", changes: changes)
    try await storeAndCommit(&draft, user: user, idempotency: nil)
  }
}
