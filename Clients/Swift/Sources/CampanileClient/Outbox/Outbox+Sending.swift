public import CampanileBase
import CampanileCall

extension Outbox {
  /// The time after which `run` looks for calls that other processes have added.
  static let pollMs: Int64 = 5_000
  /// The pause of a process that waits to become the sender.
  static let takeoverMs: Int64 = 1_000

  /// Sends calls until the task is cancelled. Waits while another process sends.
  ///
  /// - Parameter failed: Receives errors of the disk, after which the outbox tries again.
  public func run(
    through caller: any JSONCaller, failed: @Sendable (RPCError) -> Void = { _ in }
  ) async throws(CancellationError) {
    var schedule = OutboxSchedule(limits)
    while true {
      do throws(RPCError) {
        if let sender = try FileLock.attempt(path + ".sender") {
          defer { withExtendedLifetime(sender) {} }
          while true {
            let counts = (added.count, reconnect.count)
            let pauseMs = try await round(&schedule, caller)
            if Task.isCancelled { throw LocalFailure.cancelled() }
            if pauseMs > 0 { await pause(ms: pauseMs, since: counts, &schedule) }
          }
        }
      } catch {
        if Task.isCancelled { throw CancellationError() }
        failed(error)
      }
      try? await reconnect.pause(ms: Self.takeoverMs, environment)
      if Task.isCancelled { throw CancellationError() }
    }
  }

  /// Sends what can be sent at once, and returns the number of calls that are left.
  ///
  /// - Returns: All calls if another process is sending.
  @discardableResult
  public func sendNow(through caller: any JSONCaller) async throws(RPCError) -> Int {
    guard let sender = try FileLock.attempt(path + ".sender") else { return try entries().count }
    defer { withExtendedLifetime(sender) {} }
    var schedule = OutboxSchedule(limits)
    while try await round(&schedule, caller) == 0 {
      if Task.isCancelled { throw LocalFailure.cancelled() }
    }
    return try entries().count
  }

  /// Sends one call of each of several objects, and records the results.
  ///
  /// - Returns: The time until the next round; 0 to start it at once.
  private func round(_ schedule: inout OutboxSchedule, _ caller: any JSONCaller) async throws(RPCError) -> Int64 {
    let nowMs = environment.nowMs()
    let heads = try file.withLock { file throws(RPCError) in try file.read(\.heads) }
    let ready = schedule.ready(heads, nowMs: nowMs)
    guard !ready.isEmpty else { return min(schedule.pauseMs(nowMs: nowMs) ?? Self.pollMs, Self.pollMs) }
    var records: [OutboxRecord] = []
    for (entry, error) in await Self.send(ready, caller) {
      if Task.isCancelled, error?.code == .cancelled { continue }
      switch schedule.finished(entry, error, nowMs: environment.nowMs(), random: environment.random()) {
      case .sent: records.append(.sent(entry.id))
      case .refused(let error): records.append(.refused(entry.id, error))
      case .waiting: break
      }
    }
    let results = records
    try file.withLock { file throws(RPCError) in
      try file.append { journal throws(RPCError) in
        // The app may have withdrawn an entry in the meantime.
        results.filter { record in
          switch record {
          case .sent(let id), .refused(let id, _): journal.contains(id)
          default: true
          }
        }
      }
    }
    changed.notify()
    return 0
  }

  private static func send(_ entries: [OutboxEntry], _ caller: any JSONCaller) async -> [(OutboxEntry, RPCError?)] {
    await withTaskGroup(of: (OutboxEntry, RPCError?).self) { group in
      for entry in entries {
        group.addTask {
          do throws(RPCError) {
            _ = try await caller.call(entry.descriptor, json: entry.request, options: CallOptions())
            return (entry, nil)
          } catch {
            return (entry, error)
          }
        }
      }
      var results: [(OutboxEntry, RPCError?)] = []
      for await result in group { results.append(result) }
      return results
    }
  }

  /// Waits for a time, for a new entry, or for the network, which ends the pauses of all objects.
  private func pause(
    ms pauseMs: Int64, since counts: (added: Int, reconnect: Int), _ schedule: inout OutboxSchedule
  ) async {
    let sleepMs = environment.sleepMs
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await sleepMs(pauseMs) }
      group.addTask { await self.added.next(after: counts.added) }
      group.addTask { await self.reconnect.next(after: counts.reconnect) }
      await group.next()
      group.cancelAll()
    }
    if reconnect.count != counts.reconnect { schedule.resume() }
  }
}
