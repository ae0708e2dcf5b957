internal import Foundation

/// Runs the suite: starts its processes in order, starts again what dies, and ends everything in order.
public actor Supervisor {
  private let plan: SuitePlan
  private let printer: LogPrinter
  /// Where a process listens, known once it was ready; a restart keeps it.
  private var ports: [String: MemberPorts] = [:]
  private var senders: [String: MemberProcess.SignalSender] = [:]
  private var alive: Set<String> = []
  private var isStopping = false
  private let stopRequests = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

  /// How long the suite may take to be ready, in milliseconds.
  static let startMsMax: Int64 = 60_000
  /// How long the gateway, and then the services, may take to end before they are killed. Twice this is below 15 s.
  static let endMsMax: Int64 = 7_000

  public init(plan: SuitePlan, printer: LogPrinter) {
    self.plan = plan
    self.printer = printer
  }

  /// Runs until `requestStop`, or until the suite cannot be started.
  ///
  /// - Parameter onReady: called once, when every process listens, with the ports by name. When it throws the suite ends.
  /// - Throws: why the suite could not be started, after everything has ended.
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
        // The processes have ended, or do not answer any signal: what is left is killed.
        if hasShutDown { group.cancelAll() }
      }
      return first
    }
    if let failure { throw failure }
  }

  private var hasShutDown = false

  /// Begins to end the suite: `run` returns once everything has ended, within 15 s.
  public func requestStop() { stopRequests.continuation.yield() }

  /// Ends every process at once.
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
    let others = member.isGateway ? plan.members.filter { !$0.isGateway }.map(\.name) : member.after
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
      attempts += 1
      guard ports[member.name] != nil || attempts < policy.startAttemptsMax else {
        throw UsageError("\(member.name) ended \(attempts) times before it was ready (\(end)): see its lines above")
      }
      let delayMs = policy.delayMs(livedMs: Self.milliseconds(ContinuousClock.now - start))
      note("\(member.name) ended (\(end)), starting it again in \(delayMs) ms")
      try await pause(delayMs)
    }
  }

  /// One life of a process. Answers how it ended.
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
    // It was asked to stop while the process was being started.
    if isStopping { sender?(SIGTERM) }
  }

  private func becameReady(_ member: SuiteMember, _ found: MemberPorts) {
    if ports[member.name] != nil { note("\(member.name) is ready again") }
    ports[member.name] = found
  }

  private func untilReady() async throws -> [String: MemberPorts] {
    let start = ContinuousClock.now
    while ports.count < plan.members.count {
      if isStopping { throw CancellationError() }
      guard Self.milliseconds(ContinuousClock.now - start) < Self.startMsMax else {
        let missing = plan.members.map(\.name).filter { ports[$0] == nil }
        throw UsageError("not ready after \(Self.startMsMax / 1000) s: \(missing.joined(separator: ", "))")
      }
      try await Task.sleep(for: .milliseconds(ReadyFile.pollMs))
    }
    return ports
  }

  // MARK: - ending

  private func shutdown() async {
    isStopping = true
    await end(plan.members.filter(\.isGateway).map(\.name))
    await end(plan.members.filter { !$0.isGateway }.map(\.name))
    hasShutDown = true
  }

  /// Asks the processes to end, waits, and kills what is left.
  private func end(_ names: [String]) async {
    for name in names { senders[name]?(SIGTERM) }
    let start = ContinuousClock.now
    while names.contains(where: alive.contains) {
      if Self.milliseconds(ContinuousClock.now - start) > Self.endMsMax {
        note("killing what does not end: \(names.filter(alive.contains).joined(separator: ", "))")
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

  private static func milliseconds(_ duration: Duration) -> Int64 {
    duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
  }
}
