import CampanileAPI
import CampanileCrypto
import CampanileRPC
import CampanileService

/// Writes users' notifications into the files of `ZentikSyncZone`: both as one commit, within a second of a change, and
/// once for all changes that come together.
struct Exporter: Sendable {
  static let bucketsName = "buckets.json"
  static let notificationsName = "notifications.json"
  /// Users that are written at the same time.
  static let inFlightMax = 4
  private static let batchMax = 64

  let queue: ExportQueue
  let link: any NotificationsLinking
  let assets: AssetsService
  /// How many notifications a file has, the newest.
  let notificationsMax: Int
  let nowMs: @Sendable () -> Int64
  /// Rung when users were added.
  let bell: WatchBell
  let log: @Sendable (String) -> Void

  /// Follows the changes and writes files until the task is cancelled.
  func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await follow() }
      group.addTask { await write() }
    }
  }

  /// Notes whose data changes. The watch begins anew, after a pause, whenever the other service goes away.
  private func follow() async {
    var pauseMs: Int64 = 250
    while !Task.isCancelled {
      do {
        try await link.changedUsers(since: try queue.token()) { response in
          // Without a token every user is being named: should that break off, it begins anew.
          try await queue.add(response.userIds, token: response.resumeToken.isEmpty ? nil : response.resumeToken)
          pauseMs = 250
          if !response.userIds.isEmpty { bell.ring() }
        }
      } catch let error as RPCError where error.reason == Reason.resumeTokenInvalid.rawValue {
        // A store put back from elsewhere: everybody is named again.
        try? await queue.add([], token: "")
      } catch {
        // A normal end: the task is cancelled, or the connection is closed because the service ends.
        if Task.isCancelled { return }
        // The other service says good-bye: whether it comes back the next attempt will show.
        if (error as? RPCError)?.reason != WatchHub.closed.reason {
          log("changes of notifications cannot be followed: \(error)")
        }
      }
      do { try await Task.sleep(for: .milliseconds(pauseMs)) } catch { return }
      pauseMs = min(pauseMs * 2, FeedLoop.retryMsMax)
    }
  }

  private func write() async {
    while !Task.isCancelled {
      do {
        if try await step() > 0 { continue }
        let waitMs = try queue.nextDueMs().map { max(1, $0 - nowMs()) } ?? AlarmLoop.sleepMaxMs
        try await rest(min(waitMs, AlarmLoop.sleepMaxMs))
      } catch is CancellationError {
        return
      } catch {
        do { try await Task.sleep(for: .milliseconds(1_000)) } catch { return }
      }
    }
  }

  /// Writes the files of everybody who is due and returns how many those were.
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
      // Calls that a cancelled task has begun fail in ways of their own.
      try Task.checkCancellation()
      log("the files of a user cannot be written: \(error)")
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

  /// Whether the asset has other records than a file. What cannot be read is written anew.
  private func differs(_ name: String, _ content: [UInt8], user: String) async throws -> Bool {
    do {
      let current = try assets.repository.version(0, of: name, zone: NameRules.defaultZone, user: user)
      guard abs(current.sizeBytes - Int64(content.count)) < 64 else { return true }
      return !ContainerWriter.isSame(try await assets.content(of: current), content)
    } catch let error as RPCError where error.code == .notFound || error.code == .dataLoss { return true }
  }

  private func rest(_ pauseMs: Int64) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await Task.sleep(for: .milliseconds(pauseMs)) }
      group.addTask { try await bell.wait() }
      defer { group.cancelAll() }
      try await group.next()
    }
    try Task.checkCancellation()
  }
}

extension AssetsService {
  /// Commits files that the service itself has made: name, record type and content of each.
  func export(_ files: [(String, String, [UInt8])], user: String) async throws {
    var changes: [ChangeDraft] = []
    var stored: [SHA256Digest] = []
    var failure: (any Error)?
    do {
      for (name, recordType, content) in files {
        let facts = try await store(content, recordType: recordType, false, "")
        stored.append(facts.digest)
        let put = PutDraft(recordType: recordType, syncTimestampMs: nil, recordCount: 0, content: .stored(facts))
        changes.append(ChangeDraft(name: name, ifMatch: "", kind: .put(put), path: ""))
      }
      _ = try await repository.commit(
        CommitDraft(zone: NameRules.defaultZone, device: "", changes: changes), user: user, repeatable: nil)
    } catch { failure = error }
    await release(stored, isKept: failure == nil)
    if let failure { throw failure }
  }
}
