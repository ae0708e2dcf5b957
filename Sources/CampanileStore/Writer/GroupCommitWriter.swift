import CampanileBase
import Foundation
import Synchronization

/// The only writer of a database: a thread that groups waiting writes into transactions and commits them.
///
/// A write is acknowledged after the COMMIT that includes it. While one commit waits for the disk, the next writes
/// accumulate. The number of commits thus depends on the disk, and the number of writes on the callers.
final class GroupCommitWriter: Sendable {
  /// Maximum age of a transaction that new writes may join. Callers of one commit return at about the same time;
  /// without this time, the first of them would start a commit that few share.
  private static let gatheringMax = Duration.milliseconds(5)

  private let engine: any StoreEngine
  private let configuration: StoreConfiguration
  private let readers: ReaderPool
  private let queue: WriteQueue
  private let gathering: Gathering
  private let signal: (any ChangeSignal)?
  private let metrics = Mutex(StoreMetrics())
  /// The state of a writer without a thread.
  private struct Staged {
    var connection: (any StoreConnection)?
    var isScheduled = false
    var isOver = false
  }
  private let staged = Mutex(Staged())
  private var stage: (any WriterStage)? { configuration.stage }
  /// Called on the writer's thread after the last commit, with the connection if there is one.
  private let onEnd: @Sendable ((any StoreConnection)?) -> Void

  init(
    _ engine: any StoreEngine, _ configuration: StoreConfiguration, _ readers: ReaderPool,
    _ signal: (any ChangeSignal)?,
    onEnd: @escaping @Sendable ((any StoreConnection)?) -> Void
  ) {
    self.engine = engine
    self.configuration = configuration
    self.readers = readers
    self.signal = signal
    self.onEnd = onEnd
    queue = WriteQueue(path: engine.place, itemsMax: configuration.pendingWritesMax)
    gathering = Gathering(limitNs: engine.gatheringNsMax)
  }

  /// Starts the thread, which then owns the connection.
  func start(_ connection: any StoreConnection) {
    guard stage == nil else { return staged.withLock { $0.connection = connection } }
    let thread = Thread { self.loop(connection) }
    thread.name = "store-writer"
    thread.stackSize = 1 << 20
    thread.start()
  }

  /// Queues a body and waits for the commit that includes it.
  ///
  /// - Parameters:
  ///   - scope: Bound while the body runs.
  ///   - ahead: The body's first queries.
  func write<T: Sendable>(
    _ scope: CallScope?, _ ahead: ReadAhead?, _ body: @escaping @Sendable (WriteTransaction) throws -> T
  ) async throws -> T {
    let item = TypedWrite(scope, ahead, body)
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        item.continuation = continuation
        if let failure = queue.append(item) { item.finish(failure) } else { scheduleStep() }
      }
    } onCancel: {
      if queue.cancel(item) { item.finish(CancellationError()) }
    }
  }

  /// Queues a body, and blocks the caller's thread until the commit that includes it.
  func writeBlocking<T: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> T) throws -> T {
    let item = BlockingWrite(body)
    if let failure = queue.append(item) { throw failure }
    scheduleStep()
    return try item.wait()
  }

  /// Stops accepting writes. The thread ends after the queued ones.
  func close() {
    queue.close()
    scheduleStep()
  }

  var isClosed: Bool { queue.isClosed }

  func snapshot() -> StoreMetrics {
    var snapshot = metrics.withLock { $0 }
    (snapshot.overloadedWrites, snapshot.cancelledWrites) = queue.refusals
    snapshot.pendingWrites = queue.count
    return snapshot
  }

  private func loop(_ first: any StoreConnection) {
    var connection: (any StoreConnection)? = first
    let batchMax = max(1, configuration.batchWritesMax)
    while let items = queue.take(batchMax) {
      process(items, &connection)
    }
    onEnd(connection)
  }

  /// Runs the items in as many transactions as failures require. Each pass finishes at least one item.
  private func process(_ items: [PendingWrite], _ connection: inout (any StoreConnection)?) {
    var rest = items[...]
    while !rest.isEmpty {
      readers.beginWriting()
      do throws(StoreError) {
        let current: any StoreConnection
        if let connection { current = connection } else { current = try reopen() }
        connection = current
        if let failure = runTransaction(&rest, current), failure.discredits {
          discard(&connection)
        }
      } catch {
        readers.endWriting()
        for item in rest { item.finish(error) }
        return
      }
    }
  }

  /// Runs one transaction: takes items off the front, then others that have arrived in the meantime. Ends the write
  /// that was begun with `readers`.
  ///
  /// - Returns: The error if the transaction was lost.
  private func runTransaction(_ rest: inout ArraySlice<PendingWrite>, _ connection: any StoreConnection) -> StoreError?
  {
    let begun = ContinuousClock.now
    var transaction: BatchTransaction
    do throws(StoreError) {
      transaction = try BatchTransaction(connection, onBegin: configuration.onBegin)
    } catch {
      readers.endWriting()
      for item in rest { item.finish(error) }
      rest = []
      return error
    }
    var committing = begun
    var current: PendingWrite?
    do throws(StoreError) {
      var hasTakenMore = false
      while true {
        if rest.isEmpty, !hasTakenMore || ContinuousClock.now - begun < Self.gatheringMax {
          hasTakenMore = true
          let room = configuration.batchWritesMax - transaction.joined.count
          if room > 0 { rest = queue.takeMore(room)[...] }
        }
        while rest.isEmpty, gathering.isWorthwhile(transaction.joined.count, begun) {
          usleep(Gathering.pauseUs)
          rest = queue.takeMore(configuration.batchWritesMax - transaction.joined.count)[...]
        }
        guard let item = rest.popFirst() else { break }
        current = item
        transaction.askAhead(item, rest)
        try transaction.add(item)
        current = nil
      }
      try transaction.finish(configuration.beforeCommit) { () throws(StoreError) in
        committing = ContinuousClock.now
        try stage?.willCommit()
      }
      try stage?.didCommit()
      readers.endWriting()
    } catch {
      transaction.rollBack()
      readers.endWriting()
      current?.finish(error)
      for item in transaction.joined { item.finish(error) }
      observe(transaction, begun, committing, error)
      return error
    }
    // The names belong to this commit until the observer runs. Other processes hear of it after the callers.
    let changes = signal == nil ? nil : configuration.changedNames?() ?? .all
    observe(transaction, begun, committing, nil)
    for item in transaction.joined { item.finish(nil) }
    if let changes { signal?.announce(changes) }
    return nil
  }

  private func observe(
    _ transaction: BatchTransaction, _ begun: ContinuousClock.Instant, _ committing: ContinuousClock.Instant,
    _ failure: StoreError?
  ) {
    for (item, error) in transaction.failed { item.finish(error) }
    let now = ContinuousClock.now
    let commit = CommitObservation(
      writes: failure == nil ? transaction.joined.count : 0, transactionNs: (now - begun).nanoseconds,
      commitNs: (now - committing).nanoseconds, pendingWrites: queue.count, failure: failure)
    gathering.note(commit, writesMax: configuration.batchWritesMax)
    metrics.withLock { $0.record(commit, failedWrites: transaction.failed.count, restarts: transaction.restarts) }
    configuration.observer?(commit)
  }

  /// Closes a connection after a failed write or sync, because its state cannot be trusted. The kernel may have dropped
  /// dirty pages and would report the next sync as successful.
  private func discard(_ connection: inout (any StoreConnection)?) {
    try? connection?.close()
    connection = nil
  }

  private func reopen() throws(StoreError) -> any StoreConnection {
    let connection = try engine.openWriter()
    metrics.withLock { $0.reopens += 1 }
    engine.tidy(connection)
    return connection
  }
}

// MARK: - Operation without a thread

extension GroupCommitWriter {
  private func scheduleStep() {
    guard let stage else { return }
    let mustSchedule = staged.withLock { staged in
      defer { staged.isScheduled = true }
      return !staged.isScheduled && !staged.isOver
    }
    if mustSchedule { stage.schedule { self.step() } }
  }

  /// Does one round of the thread's work.
  private func step() {
    var connection = staged.withLock { staged in
      staged.isScheduled = false
      return staged.connection
    }
    let items = queue.takeMore(max(1, configuration.batchWritesMax))
    if !items.isEmpty { process(items, &connection) }
    staged.withLock { $0.connection = connection }
    if queue.count > 0 { scheduleStep() } else if queue.isClosed { end() }
  }

  /// Ends like a killed process: waiting writes are lost.
  func abandon() {
    guard stage != nil else { return }
    queue.close()
    let failure = StoreError(.closed, "the store was abandoned", path: engine.place)
    for item in queue.takeMore(.max) { item.finish(failure) }
    end()
  }

  private func end() {
    let (isOver, connection) = staged.withLock { staged in
      defer { (staged.isOver, staged.connection) = (true, nil) }
      return (staged.isOver, staged.connection)
    }
    if !isOver { onEnd(connection) }
  }
}

extension Duration {
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000
  }
}
