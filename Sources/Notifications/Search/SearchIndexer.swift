import CampanileRPC
import CampanileService
import CampanileStore

/// Keeps the full-text index up to date, after the fact: it follows the change log in small commits, so that publishing
/// does not wait for it. Its progress is in the database; any number of them may run at once.
struct SearchIndexer: Sendable {
  let store: Store
  /// Work of one commit, see `SearchWriter.budget`: some milliseconds.
  var batchBudget = 200
  /// Commits that a search makes at most before it asks its caller to come back.
  var catchUpSteps = 8
  /// Pages that one step of a merge writes about.
  static let mergePages = 64
  private static let mergeStepsMax = 4
  /// Other writes during one step that mean that many write.
  private static let busyWrites: Int64 = 16

  init(store: Store) { self.store = store }

  static let entriesSQL = """
    SELECT sequence, kind, user_id, bucket_id, notification_id FROM changes WHERE sequence > $1 ORDER BY sequence LIMIT $2
    """
  static let entriesOfUserSQL = """
    SELECT sequence, kind, user_id, bucket_id, notification_id FROM changes WHERE user_id = $1 AND sequence > $2
    ORDER BY sequence LIMIT $3
    """

  /// Whether there is anything to do.
  func hasWork() throws -> Bool {
    try store.read { transaction in
      let state = try SearchState(transaction)
      return try state.rebuild != nil || state.sequence < Self.last(transaction)
    }
  }

  /// One commit: the next changes, and a piece of a rebuild that is under way.
  func step() async throws {
    let budget = batchBudget
    try await store.write { transaction in
      var state = try SearchState(transaction)
      let before = state
      var writer = SearchWriter(transaction, budget: budget)
      try Self.follow(&state, &writer, rowsMax: budget, transaction)
      if let position = state.rebuild, !writer.isExhausted { state.rebuild = try writer.rebuild(from: position) }
      try writer.finish()
      if state != before { try state.save(transaction) }
    }
  }

  /// Joins small parts of the index into larger ones, a bounded piece a commit. Answers whether nothing is left to be joined.
  @discardableResult
  func merge() async throws -> Bool {
    for _ in 0..<Self.mergeStepsMax {
      let changed = try await store.write { transaction in
        let before = try Self.totalChanges(transaction)
        try transaction.execute(
          "INSERT INTO search_index (search_index, rank) VALUES ('merge', $1)", [.int(Self.mergePages)])
        return try Self.totalChanges(transaction) - before
      }
      // The statement itself counts as one.
      if changed < 2 { return true }
    }
    return false
  }

  /// Indexes what is left of the user's own changes. Throws UNAVAILABLE, reason `SEARCH_INDEX_BEHIND`, when that is too
  /// much for one call.
  func catchUp(user: String) async throws {
    for _ in 0..<max(1, catchUpSteps) {
      let (isComplete, isFar) = try store.read { transaction in
        let state = try SearchState(transaction)
        let backlog = try Self.last(transaction) - state.sequence
        let isFar = state.rebuild == nil && backlog > Int64(catchUpSteps * batchBudget)
        return (try state.isComplete(for: user, transaction), isFar)
      }
      if isComplete { return }
      if isFar {
        // Others have published much: the user need not wait for theirs.
        if try await index(user: user) { return }
        break
      }
      try await step()
    }
    let isComplete = try store.read { try SearchState($0).isComplete(for: user, $0) }
    guard isComplete else {
      throw RPCError(
        .unavailable, "the search index is being brought up to date", reason: Reason.searchIndexBehind.rawValue,
        retryAfterMs: 1_000)
    }
  }

  /// Indexes the changes of one user ahead of the others'; false when there are more than fit into a commit.
  private func index(user: String) async throws -> Bool {
    let budget = batchBudget
    return try await store.write { transaction in
      let state = try SearchState(transaction)
      guard try state.rebuild == nil && Self.isKept(state, transaction) else { return false }
      let entries = try transaction.query(
        Self.entriesOfUserSQL, [.text(user), .integer(state.sequence), .int(budget + 1)], Entry.init)
      guard entries.count <= budget else { return false }
      var writer = SearchWriter(transaction, budget: budget)
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

  private static func follow(
    _ state: inout SearchState, _ writer: inout SearchWriter, rowsMax: Int, _ transaction: WriteTransaction
  ) throws {
    guard try isKept(state, transaction) else {
      // The log was cut behind the index: everything is looked at anew, and what follows from here on.
      state.sequence = try last(transaction)
      state.rebuild = SearchKey(user: "", notificationID: "")
      state.bucketPosition = ""
      return
    }
    let entries = try transaction.query(entriesSQL, [.integer(state.sequence), .int(rowsMax)], Entry.init)
    for entry in entries {
      if writer.isExhausted { return }
      switch entry.subject {
      case .notification(let key): try writer.update(key)
      case .bucket(let id, let user):
        guard try writer.updateBucket(id, user: user, from: &state.bucketPosition) else { return }
      case .none: break
      }
      state.sequence = entry.sequence
    }
  }

  /// Whether the log still has every change that is not indexed.
  private static func isKept(_ state: SearchState, _ transaction: ReadTransaction) throws -> Bool {
    let first = try transaction.queryOne(ChangeLog.firstSQL) { try $0.integer(0) } ?? 0
    return try first <= state.sequence + 1 && state.sequence <= last(transaction)
  }

  private static func last(_ transaction: ReadTransaction) throws -> Int64 {
    try transaction.queryOne(ChangeLog.lastSQL) { try $0.integer(0) } ?? 0
  }

  private static func totalChanges(_ transaction: ReadTransaction) throws -> Int64 {
    try transaction.queryOne("SELECT total_changes()") { try $0.integer(0) } ?? 0
  }
}

extension SearchIndexer {
  /// One change, as far as the index cares.
  private struct Entry {
    enum Subject {
      case notification(SearchKey)
      /// It came or went with all its notifications.
      case bucket(String, user: String)
      case none
    }

    var sequence: Int64
    var subject: Subject

    init(_ row: borrowing SQLRow) throws {
      sequence = try row.integer(0)
      let user = try row.text(2)
      switch Change.Kind(rawValue: try row.integer(1)) {
      case .notificationCreated, .notificationUpdated, .notificationDeleted:
        subject = .notification(SearchKey(user: user, notificationID: try row.text(4)))
      case .bucketCreated, .bucketDeleted: subject = .bucket(try row.text(3), user: user)
      default: subject = .none
      }
    }
  }

  /// Works off what there is, leaving most of the writer's time to others, and returns the state in which everything is joined,
  /// or nil when some of that is left. Where nothing has happened since `joined`, it commits nothing: a commit rings the bell
  /// that it is called at.
  @discardableResult
  func drain(joined: SearchState? = nil, clock: ContinuousClock = ContinuousClock()) async throws -> SearchState? {
    while try hasWork() {
      let begun = clock.now
      let writesBefore = store.metrics().writes
      try await step()
      let spent = clock.now - begun
      let isBusy = store.metrics().writes - writesBefore > Self.busyWrites
      // Where many write, a twentieth of the time; what is left waits until they are done. Else a pause in which one may
      // come.
      if !isBusy { try await merge() }
      try await clock.sleep(for: isBusy ? max(spent * 19, .milliseconds(100)) : spent / 4)
    }
    let state = try store.read { try SearchState($0) }
    if let joined, joined == state { return joined }
    return try await merge() ? state : nil
  }
}
