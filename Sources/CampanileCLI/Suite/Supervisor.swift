import CampanileBase
internal import Foundation

/// Supervises the suite's processes: starts them in order, restarts those that die, and stops them in order.
public actor Supervisor {
  private let plan: SuitePlan
  private let printer: LogPrinter
  /// Ports of the processes that have been ready, by name. A restarted process keeps its ports.
  private var ports: [String: MemberPorts] = [:]
  private var senders: [String: MemberProcess.SignalSender] = [:]
  private var alive: Set<String> = []
  /// The number of times that each process has become ready.
  private var readyCounts: [String: Int] = [:]
  /// The number of times that each process has exited.
  private var exitCounts: [String: Int] = [:]
  private var isRestarting = false
  private var isStopping = false
  private let stopRequests = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

  /// Maximum time until the suite is ready, in milliseconds.
  static let startMsMax: Int64 = 60_000
  /// Maximum time in milliseconds for the gateway, and then for the services, to exit before they are killed.
  ///
  /// Twice this time must be less than 15 s.
  static let endMsMax: Int64 = 7_000
  /// The pause before the next process is restarted, in milliseconds. The others reconnect in this time.
  static let settleMs: Int64 = 2_000

  public init(plan: SuitePlan, printer: LogPrinter) {
    self.plan = plan
    self.printer = printer
  }

  /// Runs the suite until `requestStop` is called or the start fails.
  ///
  /// - Parameter onReady: Receives the ports by name, once every process listens. If it throws, the suite stops.
  /// - Throws: The reason for a failed start, after all processes have exited.
  public func run(onReady: @escaping @Sendable ([String: MemberPorts]) async throws -> Void) async throws {
    let stops = stopRequests.stream
    let failure = await withTaskGroup(of: (any Error)?.self) { group in
      for member in plan.members {
        group.addTask { await Self.failure { try await self.supervise(member) } }
      }
      group.addTask {
        await Self.failure { try await onReady(try await self.untilReady()) }
      }
      group.addTask {
        for await _ in stops { break }
        await self.shutdown()
        return nil
      }
      var first: (any Error)?
      var remaining = plan.members.count + 2
      while remaining > 0, let failure = await group.next() {
        remaining -= 1
        if let failure, !isStopping, first == nil { first = failure }
        if failure != nil { requestStop() }
        // The processes have exited, or have not reacted to signals: kill the remaining ones.
        if hasShutDown { group.cancelAll() }
      }
      return first
    }
    if let failure { throw failure }
  }

  private var hasShutDown = false

  /// Begins to stop the suite. `run` returns once all processes have exited, within 15 s.
  public func requestStop() { stopRequests.continuation.yield() }

  /// Kills every process immediately.
  public func kill() {
    isStopping = true
    for send in senders.values { send(SIGKILL) }
  }

  private static func failure(_ body: () async throws -> Void) async -> (any Error)? {
    do {
      try await body()
      return nil
    } catch is CancellationError {
      return nil
    } catch {
      return error
    }
  }

  // MARK: - starting

  private func supervise(_ member: SuiteMember) async throws {
    let others = member.after + (member.isGateway ? plan.members.filter { !$0.isGateway }.map(\.name) : [])
    let awaited = others.filter { name in plan.members.contains { $0.name == name } }
    while !isStopping, !awaited.allSatisfy({ ports[$0] != nil }) {
      try await Task.sleep(for: .milliseconds(ReadyFile.pollMs))
    }
    var policy = RestartPolicy()
    var attempts = 0
    while !isStopping {
      let start = ContinuousClock.now
      let end = try await live(member)
      if isStopping { return }
      exitCounts[member.name, default: 0] += 1
      attempts += 1
      guard ports[member.name] != nil || attempts < policy.startAttemptsMax else {
        throw UsageError("\(member.name) exited \(attempts) times before it was ready (\(end)): see its log above")
      }
      let delayMs = policy.delayMs(livedMs: (ContinuousClock.now - start).wholeMilliseconds)
      note("\(member.name) exited (\(end)), starting it again in \(delayMs) ms")
      try await pause(delayMs)
    }
  }

  /// Runs a process until it exits.
  ///
  /// - Returns: The exit code or signal, in words.
  private func live(_ member: SuiteMember) async throws -> String {
    let readyFile = plan.readyFile(of: member)
    unlink(readyFile)
    let process = MemberProcess(
      name: member.name, executable: plan.executable(of: member),
      arguments: plan.arguments(of: member, ports: ports[member.name] ?? plan.ports(of: member), running: ports),
      printer: printer)
    alive.insert(member.name)
    defer { alive.remove(member.name) }
    let watch = Task {
      guard let found = try? await ReadyFile.wait(readyFile) else { return }
      self.becameReady(member, found)
    }
    defer { watch.cancel() }
    return try await process.run { sender in await self.started(member, sender) }
  }

  private func started(_ member: SuiteMember, _ sender: MemberProcess.SignalSender?) {
    senders[member.name] = sender
    // A stop was requested while the process was starting.
    if isStopping { sender?(SIGTERM) }
  }

  private func becameReady(_ member: SuiteMember, _ found: MemberPorts) {
    if ports[member.name] != nil { note("\(member.name) is ready again") }
    ports[member.name] = found
    readyCounts[member.name, default: 0] += 1
  }

  private func untilReady() async throws -> [String: MemberPorts] {
    let start = ContinuousClock.now
    while ports.count < plan.members.count {
      if isStopping { throw CancellationError() }
      guard (ContinuousClock.now - start).wholeMilliseconds < Self.startMsMax else {
        let missing = plan.members.map(\.name).filter { ports[$0] == nil }
        throw UsageError("not ready after \(Self.startMsMax / 1000) s: \(missing.joined(separator: ", "))")
      }
      try await Task.sleep(for: .milliseconds(ReadyFile.pollMs))
    }
    return ports
  }

  // MARK: - restarting

  /// Restarts the processes one after another, each once the one before is ready again. A request during the start of
  /// the suite, or during a restart, has no effect.
  ///
  /// With several replicas, the others serve meanwhile. A process that does not become ready ends the restart, so that
  /// a faulty program replaces one process only.
  public func restartInTurn() async {
    guard !isRestarting, !isStopping, ports.count == plan.members.count else { return }
    isRestarting = true
    defer { isRestarting = false }
    let members = plan.restartOrder
    for (index, member) in members.enumerated() {
      guard !isStopping else { return }
      note("restarting \(member.name) (\(index + 1) of \(members.count))")
      guard await restart(member) else {
        if !isStopping { note("\(member.name) is not ready again: the remaining processes are not restarted") }
        return
      }
      try? await pause(Self.settleMs)
    }
    note("all processes have been restarted")
  }

  /// Returns whether the process is ready again, within the time and the number of attempts of a start.
  private func restart(_ member: SuiteMember) async -> Bool {
    let known = readyCounts[member.name]
    let exitsMax = (exitCounts[member.name] ?? 0) + RestartPolicy().startAttemptsMax
    await end([member.name])
    let start = ContinuousClock.now
    while !isStopping, readyCounts[member.name] == known {
      guard (ContinuousClock.now - start).wholeMilliseconds < Self.startMsMax,
        (exitCounts[member.name] ?? 0) <= exitsMax
      else { return false }
      try? await Task.sleep(for: .milliseconds(ReadyFile.pollMs))
    }
    return !isStopping
  }

  // MARK: - ending

  private func shutdown() async {
    isStopping = true
    await end(plan.members.filter(\.isGateway).map(\.name))
    await end(plan.members.filter { !$0.isGateway }.map(\.name))
    hasShutDown = true
  }

  /// Sends SIGTERM to the processes, waits for them, and kills the remaining ones.
  private func end(_ names: [String]) async {
    for name in names { senders[name]?(SIGTERM) }
    let start = ContinuousClock.now
    while names.contains(where: alive.contains) {
      if (ContinuousClock.now - start).wholeMilliseconds > Self.endMsMax {
        note("killing processes that did not stop: \(names.filter(alive.contains).joined(separator: ", "))")
        for name in names { senders[name]?(SIGKILL) }
        return
      }
      try? await Task.sleep(for: .milliseconds(ReadyFile.pollMs))
    }
  }

  private func pause(_ milliseconds: Int64) async throws {
    let end = ContinuousClock.now + .milliseconds(milliseconds)
    while !isStopping, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(20)) }
  }

  private func note(_ text: String) { printer.print("up", Array(text.utf8)) }
}
