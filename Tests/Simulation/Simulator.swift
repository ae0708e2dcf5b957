import CampanileBase
import CampanileRPC
import CampanileStore
import Foundation
import Notifications

/// The result of a run.
package struct Report: Sendable {
  package var seed: UInt64
  package var violations: [String]
  package var eventCount: Int
  package var checkCount: Int
  package var callCount: Int
  package var faultCounts: [String: Int]
  /// A hash of all events and their times: the same in every run of a seed.
  package var traceHash: UInt64
  package var virtualMs: Int64
  package var stepCount: Int
  /// The outcomes of calls; `-` marks those reported as not executed.
  package var endCounts: [String: Int]
  package var events: [String]
}

/// Runs the suite's code in one thread. Time, network, disk and APNs are simulated from a seed.
package final class Simulator {
  private let files: SharedFiles

  package init() throws {
    files = try SharedFiles()
    // The first run migrates the databases that the other runs start with.
    let world = World(seed: 0, plant: nil, folder: try files.runFolder(0), keepsEvents: false)
    let suite = Suite(world, files: files)
    for node in suite.nodes { node.start() }
    _ = world.run(ms: 200)
    suite.end()
    world.loop.finish()
    try files.keep(world.folder)
  }

  package func run(seed: UInt64, plant: Plant? = nil, keepsEvents: Bool = false) throws -> Report {
    let folder = try files.runFolder(seed)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let world = World(seed: seed, plant: plant, folder: folder, keepsEvents: keepsEvents)
    let run = try Run(world, files)
    run.run()
    return Report(
      seed: seed, violations: world.violations, eventCount: world.eventCount, checkCount: world.checkCount,
      callCount: run.book.callCount, faultCounts: world.faultCounts, traceHash: world.traceHash,
      virtualMs: run.virtualMs, stepCount: world.loop.stepCount, endCounts: run.book.endCounts,
      events: world.lastEvents)
  }
}

/// A single run.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
private final class Run: @unchecked Sendable {
  /// The duration of the faults, and the time for recovery. Pushes need the longest time, up to some seconds.
  private static let faultsMs: Int64 = 1_800
  private static let restMs: Int64 = 12_000

  let world: World
  let book: CallBook
  private let suite: Suite
  private let faults: Faults
  private let clients: [RPCClient]
  private let users: [NotificationUser]
  private let watchers: [Watcher]
  private let owners: [ActivityUser]
  private let echoes: [EchoCaller]
  private var chance: SplitMix64
  private var callersLeft = 0
  private var verdictsLeft = 0
  private(set) var virtualMs: Int64 = 0
  private var isOver = false

  init(_ world: World, _ files: SharedFiles) throws {
    self.world = world
    chance = world.chance("run")
    let book = CallBook(world)
    let suite = Suite(world, files: files)
    (self.book, self.suite, faults) = (book, suite, Faults(suite))
    let clients = [try suite.client("client-1"), try suite.client("client-2")]
    self.clients = clients
    users = ["anna", "bert"].enumerated().map { NotificationUser($1, book, clients[$0]) }
    watchers = users.map { Watcher($0.name, world, clients[1]) }
    owners = [ActivityUser("olga", token: 1, book, clients[0])]
    echoes = (0..<3).map { EchoCaller("echo-\($0)", book, suite.echoLog, clients[$0 % 2]) }
    if world.plant == .losesTimers {
      var chance = world.chance("lost timers")
      world.loop.losesTimer = { chance.oneIn(500) }
    }
  }

  func run() {
    for node in suite.nodes { node.start() }
    guard pass(ms: 30) else { return end() }
    suite.deliver(everyMs: { self.callersLeft > 0 ? 25 : 120 }, while: { !self.isOver })
    faults.begin()
    begin()
    look()
    guard pass(ms: Self.faultsMs) else { return end() }
    faults.end()
    for _ in 0..<20 where callersLeft > 0 { guard pass(ms: 500) else { return end() } }
    world.check(callersLeft == 0, "\(callersLeft) callers have not finished")
    guard pass(ms: 1_500) else { return end() }
    let fresh = watchers.map { Watcher($0.user, world, clients[0], from: $0.start ?? "") }
    for watcher in fresh { watcher.begin() }
    guard pass(ms: Self.restMs) else { return end() }
    for (watcher, other) in zip(watchers, fresh) { watcher.verify(against: other) }
    verify()
    for watcher in watchers + fresh { watcher.end() }
    guard pass(ms: 100) else { return end() }
    book.lookAtTheEnd()
    end()
  }

  private func pass(ms: Int64) -> Bool {
    let isDone = world.run(ms: ms)
    world.check(isDone, "the suite does not become idle")
    return isDone
  }

  private func begin() {
    for watcher in watchers { watcher.begin() }
    for user in users { start { await user.run(stepCount: 11) } }
    for owner in owners { start { await owner.run(stepCount: 11) } }
    for echo in echoes { start { await echo.run(callCount: 10) } }
    for index in 0..<3 {
      let stream = StreamCaller("s\(index)", book, messageCount: 10 + chance.below(60))
      let timeoutMs = Int64(100 + chance.below(800))
      world.after(ms: Int64(chance.below(1_500))) { stream.start(self.clients[index % 2], timeoutMs: timeoutMs) }
    }
  }

  private func start(_ body: @escaping @Sendable () async -> Void) {
    callersLeft += 1
    world.task {
      await body()
      self.callersLeft -= 1
    }
  }

  /// Repeatedly checks the invariants that must hold at every moment.
  private func look() {
    world.after(ms: 10) { [self] in
      guard !isOver else { return }
      book.look()
      if world.timeMs % 50 < 10 { recount() }
      if callersLeft > 0 || book.openCount > 0 { look() }
    }
  }

  /// Checks that the stored counts of unread notifications equal a recount, whatever was committed last.
  private func recount() {
    guard suite.notifications.isUp, let store = suite.notifications.running?.store else { return }
    if world.plant == .miscountsUnread, chance.oneIn(20) { miscount(store) }
    let wrong = try? store.readSingleBlocking { transaction in
      try transaction.query(Self.recountSQL, []) { try $0.text(0) }
    }
    guard let wrong else { return }
    world.check(wrong.isEmpty, "the unread count of \(wrong.joined(separator: ", ")) differs from a recount")
  }

  private static let recountSQL = """
    SELECT user_id FROM users WHERE unread_count <>
      (SELECT count(*) FROM notifications AS n WHERE n.user_id = users.user_id AND n.read_at_ms IS NULL)
    """

  private func miscount(_ store: Store) {
    world.task {
      _ = try? await store.write { transaction in
        try transaction.execute(
          "UPDATE users SET unread_count = unread_count + 1 WHERE notification_count > unread_count")
      }
    }
  }

  private func verify() {
    for echo in echoes { echo.verify() }
    if let component = suite.notificationsComponent, suite.notifications.isUp {
      for user in users {
        verdictsLeft += 1
        world.task {
          await user.verify(component.service)
          self.verdictsLeft -= 1
        }
      }
    } else {
      world.check(false, "notifications is not running at the end")
    }
    if let component = suite.activitiesComponent, suite.activities.isUp {
      for owner in owners {
        verdictsLeft += 1
        world.task {
          await owner.verify(component, self.suite.apns)
          self.verdictsLeft -= 1
        }
      }
    } else {
      world.check(false, "activities is not running at the end")
    }
    _ = pass(ms: 20)
    world.check(verdictsLeft == 0, "\(verdictsLeft) checks have not finished")
  }

  /// Releases all resources of the run.
  private func end() {
    isOver = true
    for watcher in watchers { watcher.end() }
    for client in clients { world.task { await client.close() } }
    suite.end()
    virtualMs = world.timeMs
    world.isOver = true
    world.loop.finish()
  }
}
