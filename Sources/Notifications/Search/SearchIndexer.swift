import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore

/// Updates the full-text index asynchronously, so that publishing does not wait for it.
///
/// Follows the change log in small commits. The progress is stored in the database; any number of indexers may run
/// concurrently.
struct SearchIndexer: Sendable {
  let store: Store
  /// Work per commit, which takes some milliseconds; see `SearchWriter.budget`.
  var batchBudget = 200
  /// Maximum number of commits in a search before it fails with a retryable error.
  var catchUpSteps = 8
  /// Approximate number of pages written by one step of a merge.
  static let mergePages = 64
  private static let mergeStepsMax = 4
  /// The pause after a step that has indexed everything. Callers that write one after the other would otherwise wait
  /// for a step in each commit.
  private static let restPause = Duration.milliseconds(50)
  /// The number of other writes during one step above which the store counts as busy.
  private static let busyWrites: Int64 = 16

  init(store: Store) { self.store = store }

  static let entriesSQL = """
    SELECT sequence, kind, user_id, bucket_id, notification_id FROM changes WHERE sequence > $1 ORDER BY sequence LIMIT $2
    """
  static let entriesOfUserSQL = """
    SELECT sequence, kind, user_id, bucket_id, notification_id FROM changes WHERE user_id = $1 AND sequence > $2
    ORDER BY sequence LIMIT $3
    """

  /// Whether there are changes to index or a rebuild is in progress.
  func hasWork() async throws -> Bool {
    try await store.read { transaction in
      let state = try SearchState(transaction)
      return try state.rebuild != nil || state.sequence < Self.last(transaction)
    }
  }

  /// Performs one commit: indexes the next changes, and a part of a rebuild in progress.
  ///
  /// - Returns: Whether nothing is left to index.
  @discardableResult
  func step() async throws -> Bool {
    let budget = batchBudget
    return try await store.write { transaction in
      var state = try SearchState(transaction)
      let before = state
      var writer = try SearchWriter(transaction, budget: budget)
      let isAtEnd = try Self.follow(&state, &writer, rowsMax: budget, transaction)
      if let position = state.rebuild, !writer.isExhausted { state.rebuild = try writer.rebuild(from: position) }
      try writer.finish()
      if state != before { try state.save(transaction) }
      return isAtEnd && state.rebuild == nil
    }
  }

  /// Merges small segments of the index into larger ones, a bounded part per commit. Returns whether nothing is left to
  /// merge.
  @discardableResult
  func merge() async throws -> Bool {
    guard store.dialect == .sqlite else { return true }
    for _ in 0..<Self.mergeStepsMax {
      let changed = try await store.write { transaction in
        let before = try Self.totalChanges(transaction)
        try transaction.execute(
          "INSERT INTO search_index (search_index, rank) VALUES ('merge', $1)", [.int(Self.mergePages)])
        return try Self.totalChanges(transaction) - before
      }
      // The statement itself counts as one change.
      if changed < 2 { return true }
    }
    return false
  }

  /// Indexes the user's remaining changes. Throws UNAVAILABLE, reason `SEARCH_INDEX_BEHIND`, if they are too many for
  /// one call.
  func catchUp(user: String) async throws {
    for _ in 0..<max(1, catchUpSteps) {
      let (isComplete, isFar) = try await store.read { transaction in
        let state = try SearchState(transaction)
        let backlog = try Self.last(transaction) - state.sequence
        let isFar = state.rebuild == nil && backlog > Int64(catchUpSteps * batchBudget)
        return (try state.isComplete(for: user, transaction), isFar)
      }
      if isComplete { return }
      if isFar {
        // The backlog is mostly from other users, so skip it and index only this user's changes.
        if try await index(user: user) { return }
        break
      }
      try await step()
    }
    let isComplete = try await store.read { try SearchState($0).isComplete(for: user, $0) }
    guard isComplete else {
      throw RPCError(.unavailable, "the search index is not up to date yet", .searchIndexBehind, retryAfterMs: 1_000)
    }
  }

  /// Indexes the changes of one user ahead of the others'. Returns false if they do not fit into one commit.
  private func index(user: String) async throws -> Bool {
    let budget = batchBudget
    return try await store.write { transaction in
      let state = try SearchState(transaction)
      guard try state.rebuild == nil && Self.isKept(state, transaction) else { return false }
      let entries = try transaction.query(
        Self.entriesOfUserSQL, [.text(user), .integer(state.sequence), .int(budget + 1)], Entry.init)
      guard entries.count <= budget else { return false }
      var writer = try SearchWriter(transaction, budget: budget)
      var isDone = true
      for entry in entries {
        if case .bucket = entry.subject { isDone = false }
        if writer.isExhausted { isDone = false }
        guard isDone else { break }
        if case .notification(let key) = entry.subject { try writer.update(key) }
      }
      try writer.finish()
      return isDone
    }
  }

  /// Returns whether the index has reached the end of the log.
  private static func follow(
    _ state: inout SearchState, _ writer: inout SearchWriter, rowsMax: Int, _ transaction: WriteTransaction
  ) throws -> Bool {
    guard try isKept(state, transaction) else {
      // The log was truncated beyond the index position: rebuild everything and follow the log from its current end.
      state.sequence = try last(transaction)
      state.rebuild = SearchKey(user: "", notificationID: "")
      state.bucketPosition = ""
      return true
    }
    let entries = try transaction.query(entriesSQL, [.integer(state.sequence), .int(rowsMax)], Entry.init)
    for entry in entries {
      if writer.isExhausted { return false }
      switch entry.subject {
      case .notification(let key): try writer.update(key)
      case .bucket(let id, let user):
        guard try writer.updateBucket(id, user: user, from: &state.bucketPosition) else { return false }
      case .none: break
      }
      state.sequence = entry.sequence
    }
    return entries.count < rowsMax
  }

  /// Whether the log still has every change that is not indexed.
  private static func isKept(_ state: SearchState, _ transaction: ReadTransaction) throws -> Bool {
    let first = try transaction.queryOne(NotificationChangeLog.firstSQL) { try $0.integer(0) } ?? 0
    return try first <= state.sequence + 1 && state.sequence <= last(transaction)
  }

  private static func last(_ transaction: ReadTransaction) throws -> Int64 {
    try transaction.queryOne(NotificationChangeLog.lastSQL) { try $0.integer(0) } ?? 0
  }

  private static func totalChanges(_ transaction: ReadTransaction) throws -> Int64 {
    try transaction.queryOne("SELECT total_changes()") { try $0.integer(0) } ?? 0
  }
}

extension SearchIndexer {
  /// One change, reduced to what the index needs.
  private struct Entry {
    enum Subject {
      case notification(SearchKey)
      /// The bucket was created or deleted with all its notifications.
      case bucket(String, user: String)
      case none
    }

    var sequence: Int64
    var subject: Subject

    init(_ row: borrowing SQLRow) throws {
      sequence = try row.integer(0)
      let user = try row.text(2)
      switch LoggedChange.Kind(rawValue: try row.integer(1)) {
      case .notificationCreated, .notificationUpdated, .notificationDeleted:
        subject = .notification(SearchKey(user: user, notificationID: try row.text(4)))
      case .bucketCreated, .bucketDeleted: subject = .bucket(try row.text(3), user: user)
      default: subject = .none
      }
    }
  }

  /// Indexes all pending changes and leaves most of the writer's time to others.
  ///
  /// Commits nothing if nothing has happened since `joined`, because each commit signals the caller to call again.
  ///
  /// - Returns: The state of a fully merged index, or nil if segments are left to merge.
  @discardableResult
  func drain(joined: SearchState? = nil, clock: ContinuousClock = ContinuousClock()) async throws -> SearchState? {
    while try await hasWork() {
      let begun = clock.now
      let writesBefore = store.metrics().writes
      let isComplete = try await step()
      let spent = clock.now - begun
      let isBusy = store.metrics().writes - writesBefore > Self.busyWrites
      // When busy, use a twentieth of the time and leave merging for later. Otherwise, pause so that another write can
      // run.
      if !isBusy { try await merge() }
      let pause = isComplete ? Self.restPause : spent / 4
      try await clock.sleep(for: isBusy ? max(spent * 19, .milliseconds(100)) : pause)
    }
    let state = try await store.read { try SearchState($0) }
    if let joined, joined == state { return joined }
    return try await merge() ? state : nil
  }
}
