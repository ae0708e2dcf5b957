import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// Exports users' notifications to the files of `ZentikSyncZone`, both files in one commit, unless a device writes
/// these files. A change is exported within a second; changes that come together are exported once.
struct Exporter: Sendable {
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
  let events: @Sendable (SyncEvent) -> Void

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
        if try await queue.token().isEmpty { try await addAllUsers() }
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
      return AlarmSchedule.sleepMs(untilMs: try await queue.nextDueMs(), nowMs: nowMs())
    }
  }

  /// Exports the files of all due users.
  ///
  /// - Returns: The number of due users.
  func step() async throws -> Int {
    let entries = try await queue.due(countMax: Self.batchMax)
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
      events(.export(try await write(user: entry.user)))
      try await queue.settle(entry)
    } catch {
      // Calls in a cancelled task fail with various errors; report the cancellation instead.
      try Task.checkCancellation()
      log("cannot write the files of a user: \(error)")
      events(.export(.failed))
      try await queue.retry(entry)
    }
  }

  private func write(user: String) async throws -> ExportOutcome {
    let zone = try await assets.repository.zone(NameRules.defaultZone, user: user)
    guard zone.exportsNotifications else { return .ended }
    let (buckets, notifications) = try await link.containers(user: user, notificationsMax: notificationsMax)
    let files = ExportedFiles(buckets: buckets, notifications: notifications, atMs: nowMs())
    var current: [(version: StoredVersion, content: [UInt8])] = []
    for (name, _, _) in files.all {
      if let found = try await self.current(name, user: user) { current.append(found) }
    }
    let isSame = zip(files.all, current).allSatisfy { ContainerWriter.isSame($0.content, $1.content) }
    if current.count == files.all.count, isSame { return .unchanged }
    var draft = ExportDraft(updates: [.fullSync])
    // A file of a device may differ in more than its records.
    if current.count == files.all.count, current.allSatisfy({ $0.version.deviceID.isEmpty }) {
      let (buckets, notifications, countMax) = (current[0].content, current[1].content, notificationsMax)
      draft.updates = try await assets.documents.run {
        guard let old = ExportDiff.Files(buckets: buckets, notifications: notifications),
          let new = ExportDiff.Files(buckets: files.buckets, notifications: files.notifications)
        else { return [.fullSync] }
        return ExportDiff.updates(from: old, to: new, notificationsMax: countMax)
      }
      draft.sinceMs = current.map(\.version.atMs).min() ?? 0
    }
    do {
      try await assets.export(files, draft, user: user)
      return .written
    } catch is ExportEnded {
      // A device has committed one of the files meanwhile.
      return .ended
    }
  }

  /// Returns the current version of a file and its content; nil if it is missing, unreadable or too large to compare.
  private func current(_ name: String, user: String) async throws -> (StoredVersion, [UInt8])? {
    do {
      let version = try await assets.repository.version(0, of: name, zone: NameRules.defaultZone, user: user)
      guard version.sizeBytes <= assets.limits.documentBytesMax else { return nil }
      return (version, try await assets.content(of: version))
    } catch let error as RPCError where error.code == .notFound || error.code == .dataLoss { return nil }
  }
}

extension AssetsService {
  /// Commits files that the service has generated. Throws `ExportEnded`.
  func export(_ files: ExportedFiles, _ export: ExportDraft, user: String) async throws {
    let changes = files.all.map { name, recordType, content in
      let put = PutDraft(recordType: recordType, syncTimeMs: nil, recordCount: 0, content: .inline(content))
      return ChangeDraft(name: name, etag: "", put: put, path: "")
    }
    var draft = CommitDraft(zone: NameRules.defaultZone, device: "", changes: changes, export: export)
    try await storeAndCommit(&draft, user: user, idempotency: nil)
  }
}
