import Synchronization

/// Wakes the watches of a user when changes of theirs were committed. It carries no changes: watches read the log, so a slow
/// one holds up nobody and nothing queues here.
final class WatchHub: Sendable {
  private struct User {
    /// Counts the commits since the first watch came.
    var commits: UInt64 = 0
    var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var watchCount = 0
  }
  private struct State {
    var users: [String: User] = [:]
    var nextWaiter: UInt64 = 0
    var isClosed = false
  }
  private let state = Mutex(State())

  /// Registers a watch of a user, until `leave`. Answers the commit count to wait from.
  func enter(_ user: String) -> UInt64 {
    state.withLock { state in
      state.users[user, default: User()].watchCount += 1
      return state.users[user]?.commits ?? 0
    }
  }

  func leave(_ user: String) {
    state.withLock { state in
      guard var entry = state.users[user] else { return }
      entry.watchCount -= 1
      state.users[user] = entry.watchCount > 0 ? entry : nil
    }
  }

  /// How many watches are open.
  var watchCount: Int { state.withLock { $0.users.values.reduce(0) { $0 + $1.watchCount } } }

  /// A change of `user` was committed.
  func committed(_ user: String) {
    let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      guard state.users[user] != nil else { return [] }
      state.users[user]?.commits += 1
      defer { state.users[user]?.waiters = [:] }
      return state.users[user].map { Array($0.waiters.values) } ?? []
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Waits until there were more than `seen` commits, the task is cancelled, or the hub is closed. Answers the count.
  func wait(_ user: String, after seen: UInt64) async -> UInt64 {
    let id = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state in
          guard !state.isClosed, let entry = state.users[user], entry.commits == seen, !Task.isCancelled else {
            return true
          }
          state.users[user]?.waiters[id] = continuation
          return false
        }
        if isDone { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.users[user]?.waiters.removeValue(forKey: id) }?.resume()
    }
    return state.withLock { $0.users[user]?.commits ?? seen }
  }

  /// Ends every wait, also later ones: the service is going down.
  func close() {
    let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      state.isClosed = true
      let all = state.users.values.flatMap { $0.waiters.values }
      for user in state.users.keys { state.users[user]?.waiters = [:] }
      return all
    }
    for waiter in waiters { waiter.resume() }
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }
}
