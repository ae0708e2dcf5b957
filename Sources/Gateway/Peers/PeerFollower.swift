import CampanileBase
import CampanileStore
import Logging
import Synchronization

/// Keeps the memory of a gateway up to date with the database that it shares with other gateways.
///
/// It reads the log of changes when another gateway announces one, and once a second in any case.
final class PeerFollower: Sendable {
  private static let pollMs: Int64 = 1_000

  private let changes: AccessChanges
  private let membership: GatewayMembership
  private let keys: KeyStore
  private let sessions: ConsoleSessions
  private let replies: ReplyStore
  private let logger: Logger
  private let revision = Mutex<Int64>(0)

  init(
    changes: AccessChanges, membership: GatewayMembership, keys: KeyStore, sessions: ConsoleSessions,
    replies: ReplyStore, logger: Logger
  ) {
    self.changes = changes
    self.membership = membership
    self.keys = keys
    self.sessions = sessions
    self.replies = replies
    self.logger = logger
  }

  /// Joins the gateways on the database, and returns their number. Call it before the keys are loaded.
  func join() async throws -> Int {
    let last = try await changes.last()
    revision.withLock { $0 = last }
    return try await membership.renew(isFirst: true)
  }

  /// Leaves the gateways on the database, after the last call.
  func leave() async {
    do { try await membership.leave() } catch {
      logger.error("leaving the other gateways failed", metadata: ["error": "\(error)"])
    }
  }

  /// Follows the other gateways until the task is cancelled.
  ///
  /// - Parameter onCount: Receives the number of gateways whenever it is read.
  func run(onCount: @escaping @Sendable (Int) -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.follow(onCount) }
      group.addTask { await self.keepAlive(onCount) }
    }
  }

  private func follow(_ onCount: @Sendable (Int) -> Void) async {
    var isFailing = false
    var nextPoll = ContinuousClock.now
    let failed: (any Error) -> Void = { error in
      // Logged once, because each round fails while the server is away.
      if !isFailing { self.logger.error("following the other gateways failed", metadata: ["error": "\(error)"]) }
      isFailing = true
      nextPoll = .now
    }
    await changes.peers.signal.runRounds(retryMs: Self.pollMs, failed: failed) {
      let foreign = changes.peers.takeForeign()
      let mustPoll = ContinuousClock.now >= nextPoll
      if mustPoll { nextPoll = .now + .milliseconds(Self.pollMs) }
      replies.changedElsewhere(mustPoll ? .all : foreign)
      if mustPoll || foreign.contains(GatewayPeers.access) { try await catchUp() }
      if foreign.contains(GatewayPeers.members) { onCount(try await membership.count()) }
      isFailing = false
      return Self.pollMs
    }
  }

  /// Applies the changes of keys and sessions since the last call.
  func catchUp() async throws {
    let known = revision.withLock { $0 }
    let (last, subjects) = try await changes.after(known)
    guard last > known else { return }
    if let subjects {
      var seen: Set<String> = []
      for subject in subjects where seen.insert(subject).inserted {
        if subject.hasPrefix(StoredConsoleSession.idPrefix) {
          try await sessions.refresh(subject)
        } else {
          try await keys.refresh(subject)
        }
      }
    } else {
      try await keys.refreshAll()
      try await sessions.refreshAll()
    }
    revision.withLock { $0 = max($0, last) }
  }

  private func keepAlive(_ onCount: @Sendable (Int) -> Void) async {
    var (round, isFailing) = (0, false)
    while !Task.isCancelled {
      do { try await Task.sleep(for: .milliseconds(GatewayMembership.pauseMs)) } catch { return }
      round += 1
      do {
        onCount(try await membership.renew())
        await replies.releaseRest()
        if round % 30 == 0 { try await membership.purge() }
        isFailing = false
      } catch is CancellationError {
        return
      } catch {
        if !isFailing { logger.error("renewing the gateway's membership failed", metadata: ["error": "\(error)"]) }
        isFailing = true
      }
    }
  }
}
