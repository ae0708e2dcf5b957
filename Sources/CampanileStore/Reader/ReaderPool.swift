import Dispatch
import Synchronization

/// A pool of read-only connections, each used by one caller at a time. Queries run on the caller's own thread.
final class ReaderPool: Sendable {
  /// A caller that waits for a connection. Its semaphore is signalled once, after the outcome is set.
  private final class Waiter: Sendable {
    let arrived = DispatchSemaphore(value: 0)
    let outcome = Mutex<Result<any StoreConnection, StoreError>?>(nil)
  }

  private struct Idle {
    var connection: any StoreConnection
    /// The time when it is replaced; nil if it never is.
    var endsAt: ContinuousClock.Instant?
  }

  private struct State {
    var idle: [Idle] = []
    var waiters: [Waiter] = []
    var openCount = 0
    var waits: Int64 = 0
    var isClosed = false
  }

  private let engine: any StoreEngine
  private let state = Mutex(State())
  /// The number of writes that have begun and ended: odd during one.
  private let writes = Atomic(0)

  init(_ engine: any StoreEngine) { self.engine = engine }

  var counts: (waits: Int64, open: Int) { state.withLock { ($0.waits, $0.openCount) } }

  /// Opens the first connection, which stays in the pool.
  ///
  /// The index of the write-ahead log is in shared memory that disappears with the last connection, and recreating it
  /// requires a writable disk. While this connection is open, the writer can be replaced and reads work even if the
  /// disk is not writable.
  func openFirst() throws {
    try withConnection { _ = try $0.hasTable("schema_migrations") }
  }

  /// Runs a read. It sees every write that has ended before.
  ///
  /// - Parameter isSingle: Whether each query may see a state of its own.
  func read<T>(isSingle: Bool, _ body: (any StoreConnection) throws -> T) throws -> T {
    try withConnection { connection in
      try connection.beginRead(isSingle: isSingle, mark: mark)
      defer { connection.endRead(isSingle: isSingle, mark: mark) }
      return try body(connection)
    }
  }

  private var mark: Int? {
    let writes = writes.load(ordering: .acquiring)
    return writes.isMultiple(of: 2) ? writes : nil
  }

  /// Ends the snapshots of idle connections before a write. Until `endWriting`, no other lasts longer than its read.
  func beginWriting() {
    writes.add(1, ordering: .acquiringAndReleasing)
    state.withLock { state in
      for idle in state.idle { idle.connection.endSnapshot() }
    }
  }

  /// Call after the commit and before its callers return.
  func endWriting() { writes.add(1, ordering: .releasing) }

  /// Runs `body` with a connection that no other caller uses at the same time.
  ///
  /// - Throws: `overloaded` if no connection became available in time, `closed` after `close`.
  func withConnection<T>(_ body: (any StoreConnection) throws -> T) throws -> T {
    let connection = try checkOut()
    do {
      let value = try body(connection)
      checkIn(connection)
      return value
    } catch {
      if let failure = error as? StoreError, failure.discredits {
        discard(connection)
      } else {
        checkIn(connection)
      }
      throw error
    }
  }

  /// Closes idle connections now, and the others when their callers return them.
  func close() {
    let (idle, waiters) = state.withLock { state in
      state.isClosed = true
      defer {
        state.openCount -= state.idle.count
        state.idle = []
        state.waiters = []
      }
      return (state.idle, state.waiters)
    }
    for one in idle { try? one.connection.close() }
    for waiter in waiters { resolve(waiter, .failure(closedError)) }
  }

  private enum CheckOut {
    case idle(Idle)
    case open
    case wait(Waiter)
    case closed
  }

  private func checkOut() throws(StoreError) -> any StoreConnection {
    let readersMax = engine.readersMax
    let step: CheckOut = state.withLock { state in
      if state.isClosed { return .closed }
      if let idle = state.idle.popLast() { return .idle(idle) }
      if state.openCount < readersMax {
        state.openCount += 1
        return .open
      }
      let waiter = Waiter()
      state.waits += 1
      state.waiters.append(waiter)
      return .wait(waiter)
    }
    switch step {
    case .idle(let idle):
      guard let endsAt = idle.endsAt, endsAt < .now else { return idle.connection }
      try? idle.connection.close()
      return try openOne()
    case .open: return try openOne()
    case .wait(let waiter): return try wait(waiter)
    case .closed: throw closedError
    }
  }

  private func openOne() throws(StoreError) -> any StoreConnection {
    do {
      return try engine.openReader()
    } catch {
      state.withLock { $0.openCount -= 1 }
      throw error
    }
  }

  private func wait(_ waiter: Waiter) throws(StoreError) -> any StoreConnection {
    let limit = DispatchTime.now() + .milliseconds(engine.readerWaitMs)
    if waiter.arrived.wait(timeout: limit) == .timedOut {
      let wasWaiting = state.withLock { state in
        let count = state.waiters.count
        state.waiters.removeAll { $0 === waiter }
        return state.waiters.count < count
      }
      guard !wasWaiting else {
        throw StoreError(.overloaded, "no read connection became available in time", path: engine.place)
      }
      // The waiter was removed from the list just now: its outcome is about to arrive.
      waiter.arrived.wait()
    }
    switch waiter.outcome.withLock({ $0 }) {
    case .success(let connection): return connection
    case .failure(let error): throw error
    case nil: throw StoreError(.overloaded, "no read connection became available in time", path: engine.place)
    }
  }

  private func checkIn(_ connection: any StoreConnection) {
    let endsAt = engine.readerIdleMax.map { .now + $0 } as ContinuousClock.Instant?
    let (waiter, mustClose): (Waiter?, Bool) = state.withLock { state in
      if state.isClosed {
        state.openCount -= 1
        return (nil, true)
      }
      if state.waiters.isEmpty {
        state.idle.append(Idle(connection: connection, endsAt: endsAt))
        return (nil, false)
      }
      return (state.waiters.removeFirst(), false)
    }
    if mustClose { try? connection.close() }
    if let waiter { resolve(waiter, .success(connection)) }
  }

  /// Closes a connection after a disk failure. A waiting caller gets a new connection instead.
  private func discard(_ connection: any StoreConnection) {
    try? connection.close()
    let waiter: Waiter? = state.withLock { state in
      guard !state.isClosed, !state.waiters.isEmpty else {
        state.openCount -= 1
        return nil
      }
      return state.waiters.removeFirst()
    }
    guard let waiter else { return }
    do throws(StoreError) {
      resolve(waiter, .success(try openOne()))
    } catch {
      resolve(waiter, .failure(error))
    }
  }

  private func resolve(_ waiter: Waiter, _ outcome: Result<any StoreConnection, StoreError>) {
    waiter.outcome.withLock { $0 = outcome }
    waiter.arrived.signal()
  }

  private var closedError: StoreError { StoreError(.closed, "the store is closed", path: engine.place) }
}
