extension Store {
  /// Whether other processes may use the database.
  package var isShared: Bool { leaseStatements != nil }

  /// Runs work that only one of the processes on a database does at a time, as soon as this process may.
  ///
  /// Returns when `body` returns, or the task is cancelled. If another process takes the work over, `body` is
  /// cancelled, and run again when its turn comes. Writes of `body`, and of tasks that it starts, fail with
  /// `interrupted` from then on. On SQLite, where no other process may open the file, `body` runs at once.
  public func whileHolding(_ name: String, _ body: @escaping @Sendable () async -> Void) async {
    guard let statements = leaseStatements else { return await body() }
    let owner = Int64.random(in: 1 ... .max)
    while !Task.isCancelled {
      if let term = try? await take(name, owner, statements) {
        let lease = StoreLease(store: ObjectIdentifier(self), name: name, owner: owner, term: term)
        if await hold(lease, statements, body) { return }
      }
      do { try await Task.sleep(for: .milliseconds(LeaseTiming.pauseMs)) } catch { return }
    }
  }

  private func take(_ name: String, _ owner: Int64, _ statements: LeaseStatements) async throws -> Int64? {
    try await write { transaction in
      let arguments: [SQLValue] = [.text(name), .integer(owner), .integer(LeaseTiming.lengthMs)]
      return try transaction.queryOne(statements.take, arguments) { try $0.integer(0) }
    }
  }

  /// Runs `body` until it returns or the lease is lost. Returns whether it has returned by itself.
  private func hold(
    _ lease: StoreLease, _ statements: LeaseStatements, _ body: @escaping @Sendable () async -> Void
  ) async -> Bool {
    let hasReturned = await withTaskGroup(of: Bool.self) { group in
      group.addTask {
        await StoreLease.$current.withValue(lease) { await body() }
        return true
      }
      group.addTask {
        await self.keep(lease, statements)
        return false
      }
      let first = await group.next() ?? false
      group.cancelAll()
      return first
    }
    // Not cancelled with the task, so that another process can continue at once.
    _ = await Task.detached { try? await self.extend(lease, statements, by: 0) }.value
    return hasReturned
  }

  /// Extends a lease until the task is cancelled or the lease is lost.
  private func keep(_ lease: StoreLease, _ statements: LeaseStatements) async {
    var end = ContinuousClock.now + .milliseconds(LeaseTiming.lengthMs)
    while ContinuousClock.now < end {
      do { try await Task.sleep(for: .milliseconds(LeaseTiming.pauseMs)) } catch { return }
      let begun = ContinuousClock.now
      guard let isHeld = try? await extend(lease, statements, by: LeaseTiming.lengthMs) else { continue }
      guard isHeld else { return }
      end = begun + .milliseconds(LeaseTiming.lengthMs)
    }
  }

  private func extend(_ lease: StoreLease, _ statements: LeaseStatements, by lengthMs: Int64) async throws -> Bool {
    let arguments: [SQLValue] = [.text(lease.name), .integer(lease.owner), .integer(lease.term), .integer(lengthMs)]
    return try await write { try $0.executeCounting(statements.extend, arguments) == 1 }
  }

  /// Runs a write that counts only while its process has the lease.
  func write<T: Sendable>(
    under lease: StoreLease, _ statements: LeaseStatements,
    _ body: @escaping @Sendable (WriteTransaction) throws -> T
  ) async throws -> T {
    let arguments: [SQLValue] = [.text(lease.name), .integer(lease.owner), .integer(lease.term)]
    do {
      return try await StoreLease.$current.withValue(nil) {
        try await write { transaction in
          // Fails at the latest with the commit, so it costs no round trip.
          try transaction.execute(statements.check, arguments)
          return try body(transaction)
        }
      }
    } catch let error as StoreError where error.engineCode == LeaseStatements.lostCode {
      throw StoreLease.lost
    }
  }
}
