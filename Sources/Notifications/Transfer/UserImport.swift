import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore

/// Collects the entries of one import and stores them in batches.
struct UserImport {
  static let batchEntriesMax = 200
  static let batchSizeBytesMax = 1 << 20
  static let errorsMax = 100

  let store: Store
  let user: String
  let limits: NotificationsLimits
  let clockMs: @Sendable () -> Int64
  let notifier: CommitNotifier

  private var batch: [ImportEntry] = []
  private var batchSizeBytes = 0
  private var index: Int64 = 0
  private var response = ImportUserDataResponse()

  init(
    store: Store, user: String, limits: NotificationsLimits, notifier: CommitNotifier,
    clockMs: @escaping @Sendable () -> Int64
  ) {
    self.store = store
    self.user = user
    self.limits = limits
    self.clockMs = clockMs
    self.notifier = notifier
  }

  /// Adds one entry. Throws FAILED_PRECONDITION, reason `FORMAT_VERSION_UNKNOWN`, for a header of a newer format, and
  /// the errors of the store. Earlier batches remain stored, so the import can be repeated.
  mutating func add(_ entry: TransferEntry?) async throws {
    defer { index += 1 }
    do throws(RPCError) {
      guard let entry = try ImportEntry(entry, index: index, nowMs: clockMs()) else { return }
      batch.append(entry)
      batchSizeBytes += entry.sizeBytes
    } catch {
      guard error.code == .invalidArgument else { throw error }
      return refuse(error, at: index)
    }
    if batch.count >= Self.batchEntriesMax || batchSizeBytes >= Self.batchSizeBytesMax { try await flush() }
  }

  /// Stores the remaining entries and returns the totals.
  mutating func finish() async throws -> ImportUserDataResponse {
    try await flush()
    response.errors.sort { $0.index < $1.index }
    return response
  }

  private mutating func flush() async throws {
    let entries = batch
    batch = []
    batchSizeBytes = 0
    guard !entries.isEmpty else { return }
    let (user, limits, nowMs, notifier) = (user, limits, clockMs(), notifier)
    let outcomes = try await store.write { transaction in
      try notifier.settle(transaction)
      var writer = try ImportWriter(transaction, user: user, limits: limits, nowMs: nowMs, notifier: notifier)
      let outcomes = try entries.map { try writer.keep($0.content) }
      try writer.finish()
      return outcomes
    }
    for (entry, outcome) in zip(entries, outcomes) {
      switch outcome {
      case .imported: response.importedCount += 1
      case .kept: response.keptCount += 1
      case .refused(let error): refuse(error, at: entry.index)
      }
    }
  }

  private mutating func refuse(_ failure: RPCError, at index: Int64) {
    response.refusedCount += 1
    guard response.errors.count < Self.errorsMax else { return }
    response.errors.append(ImportError(index: index, error: failure.batchError))
  }
}
