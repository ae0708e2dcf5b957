internal import CampanileRPC
internal import Foundation
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// How far a run is.
public struct LoadProgress: Sendable, Hashable {
  public var isWarmingUp: Bool
  /// Of the last second.
  public var callsPerSecond: Double
  public var p50Ms: Double
  public var p99Ms: Double
  /// Of the measured part so far.
  public var calls: Int
  public var errors: Int
  /// Calls of `LoadPlan.count` that have not ended; `nil` without a count.
  public var remainingCalls: Int?
  /// Until the plan's time is over, or its calls have ended at the speed of the last second; `nil` where a count alone ends it and that
  /// speed is 0.
  public var remainingMs: Int64?

  public init(
    isWarmingUp: Bool, callsPerSecond: Double, p50Ms: Double, p99Ms: Double, calls: Int, errors: Int,
    remainingCalls: Int?, remainingMs: Int64?
  ) {
    self.isWarmingUp = isWarmingUp
    self.callsPerSecond = callsPerSecond
    self.p50Ms = p50Ms
    self.p99Ms = p99Ms
    self.calls = calls
    self.errors = errors
    self.remainingCalls = remainingCalls
    self.remainingMs = remainingMs
  }
}

/// One load test, from its first call to its report.
///
/// It ends by itself: after the plan's time or calls, and at most one deadline more for calls that are still in flight.
public final class LoadRun: Sendable {
  private let plan: LoadPlan
  private let requests: RequestSet
  private let target: LoadTarget
  private let processorTimes: @Sendable () -> ProcessorTimes.Reader
  private let wasStopped = Atomic<Bool>(false)

  /// How long it takes at most to notice that a run is to end early, and that its calls are used up.
  private static let restMs: Int64 = 250
  private static let countRestMs: Int64 = 50
  /// How long calls in flight may go on once the run was ended early.
  static let stopMs: Int64 = 1_000

  /// Throws `LOAD_PLAN_INVALID` for what cannot be run.
  public convenience init(_ plan: LoadPlan, requests: RequestSet, target: LoadTarget) throws(LoadError) {
    try self.init(plan, requests: requests, target: target, processorTimes: ProcessorTimes.ofThisThread)
  }

  /// `processorTimes` is called on the thread of each loop, and answers who tells of it.
  init(
    _ plan: LoadPlan, requests: RequestSet, target: LoadTarget,
    processorTimes: @escaping @Sendable () -> ProcessorTimes.Reader
  ) throws(LoadError) {
    try plan.check()
    if !target.isStreaming, plan.stream != StreamPlan() {
      let field = plan.stream.messages == nil ? "--message-rate" : "--messages"
      throw LoadError(.planInvalid, field: field, reason: "is for streams, and \(target.method) is a unary method")
    }
    if case .http = target.face {
      guard !target.isStreaming else {
        throw LoadError(.planInvalid, field: "--http", reason: "only unary methods can be loaded over HTTP")
      }
      guard plan.connections == plan.concurrency else {
        throw LoadError(
          .planInvalid, field: "--connections", reason: "is --concurrency over HTTP/1.1: one call at a time each")
      }
      if let fault = target.metadata.fault() {
        throw LoadError(.planInvalid, field: "--header", reason: fault.message)
      }
    }
    self.plan = plan
    self.requests = requests
    self.target = target
    self.processorTimes = processorTimes
  }

  /// Ends the run early; what was measured so far is reported.
  public func stop() { wasStopped.store(true, ordering: .relaxed) }

  /// Runs the plan. `onProgress` is told about every second.
  public func run(onProgress: (LoadProgress) -> Void = { _ in }) async throws -> LoadReport {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: plan.threads)
    do {
      var loops: [BoundLoop] = []
      for (index, eventLoop) in Array(group.makeIterator()).enumerated() {
        loops.append(try await makeLoop(eventLoop, index: index))
      }
      let report = try await measure(&loops, onProgress)
      for one in loops { try await one.on { $0.close() } }
      try await group.shutdownGracefully()
      return report
    } catch {
      try? await group.shutdownGracefully()
      throw error
    }
  }

  // MARK: - loops

  private struct BoundLoop: Sendable {
    var eventLoop: any EventLoop
    var loop: NIOLoopBound<LoadLoop>
    var processorTimes: ProcessorTimes.Reader
    var processor = ProcessorWatch()

    func on<R: Sendable>(_ body: @escaping @Sendable (LoadLoop) -> R) async throws -> R {
      try await eventLoop.submit { body(loop.value) }.get()
    }
  }

  private func makeLoop(_ eventLoop: any EventLoop, index: Int) async throws -> BoundLoop {
    @Sendable func share(_ whole: Int) -> Int { whole / plan.threads + (index < whole % plan.threads ? 1 : 0) }
    return try await eventLoop.submit { [plan, requests, target, processorTimes] in
      let driver: any CallDriver =
        switch target.face {
        case .rpc(let configuration):
          try RPCDriver(
            target, configuration: configuration, stream: plan.stream, connections: share(plan.connections),
            loop: eventLoop)
        case .http(let http):
          try HTTPDriver(
            http, method: target.method, metadata: target.metadata, timeoutMs: plan.timeoutMs, loop: eventLoop)
        }
      let part = LoadLoop.Share(
        index: index, count: plan.threads, concurrency: share(plan.concurrency), calls: plan.count.map(share))
      let loop = LoadLoop(
        eventLoop, plan: plan, requests: requests, share: part, driver: driver,
        nowMs: { Int64(Date().timeIntervalSince1970 * 1000) })
      return BoundLoop(
        eventLoop: eventLoop, loop: NIOLoopBound(loop, eventLoop: eventLoop), processorTimes: processorTimes())
    }.get()
  }

  // MARK: - time

  private static func nowNs() -> Int64 { Int64(clamping: NIODeadline.now().uptimeNanoseconds) }

  private func measure(_ loops: inout [BoundLoop], _ onProgress: (LoadProgress) -> Void) async throws -> LoadReport {
    var builder = ReportBuilder(plan: plan, target: target, startTime: Date())
    let startNs = Self.nowNs() + 1_000_000
    let measureNs = startNs + plan.warmupMs * 1_000_000
    let endNs = measureNs + plan.durationMs * 1_000_000
    for one in loops { try await one.on { $0.start(atNs: startNs) } }

    var lastNs = measureNs
    var cpuStart = ClientCPU.seconds()
    var wallStartNs = startNs
    var hasMeasured = false
    var isOver = false
    while !isOver {
      for index in loops.indices { try await watch(&loops[index], nowNs: Self.nowNs(), measureNs: measureNs) }
      await rest(until: hasMeasured ? endNs : measureNs)
      let now = Self.nowNs()
      if !hasMeasured, now >= measureNs {
        hasMeasured = true
        cpuStart = ClientCPU.seconds()
        wallStartNs = now
      }
      builder.wasInterrupted = wasStopped.load(ordering: .relaxed) || Task.isCancelled
      isOver = now >= endNs || builder.wasInterrupted
      var untilNs = min(now, endNs)
      if !isOver, try await isDone(loops) {
        isOver = true
        // A count is over with its last call, not when somebody looks.
        if plan.count != nil { untilNs = try await lastEndNs(loops) }
      }
      guard isOver || now - lastNs >= 1_000_000_000 else { continue }
      var interval = LoadInterval()
      for one in loops { interval.add(try await one.on { [fresh = LoadInterval()] in $0.exchangeInterval(fresh) }) }
      builder.add(interval, startS: Double(lastNs - measureNs) / 1e9, endS: Double(untilNs - measureNs) / 1e9)
      lastNs = max(lastNs, untilNs)
      tell(onProgress, builder, nowNs: now, measureNs: measureNs, endNs: endNs)
    }
    let wallS = Double(Self.nowNs() - wallStartNs) / 1e9
    builder.clientCPUShare = wallS > 0 ? (ClientCPU.seconds() - cpuStart) / wallS / Double(plan.threads) : 0
    builder.measuredS = max(0, Double(lastNs - measureNs) / 1e9)
    try await drain(loops, wasInterrupted: builder.wasInterrupted)
    for one in loops { builder.add(try await one.on { $0.record }) }
    builder.processorWaitShare = loops.compactMap(\.processor.waitShare).max()
    builder.processorOthersShare = loops.compactMap(\.processor.othersShare).max()
    return builder.report()
  }

  /// Sleeps until it looks again how far the run is. Each look takes the processor from a server on it: often only where the calls may be used
  /// up before the time is.
  private func rest(until endNs: Int64) async {
    let restNs = (plan.count == nil ? Self.restMs : Self.countRestMs) * 1_000_000
    try? await Task.sleep(nanoseconds: UInt64(max(1_000_000, min(restNs, endNs - Self.nowNs()))))
  }

  /// Looks now and then whether the loop's thread shares its processor, and tells the loop.
  private func watch(_ one: inout BoundLoop, nowNs: Int64, measureNs: Int64) async throws {
    guard one.processor.isDue(nowNs: nowNs) else { return }
    let wasShared = one.processor.isShared
    one.processor.look(one.processorTimes(), nowNs: nowNs, measuredFromNs: measureNs)
    if one.processor.isShared, !wasShared { try await one.on { $0.shareProcessor() } }
  }

  private func tell(
    _ onProgress: (LoadProgress) -> Void, _ builder: ReportBuilder, nowNs: Int64, measureNs: Int64, endNs: Int64
  ) {
    let second = builder.seconds.last
    let callsPerSecond = second?.callsPerSecond ?? 0
    let timeMs = max(0, endNs - nowNs) / 1_000_000
    let remainingCalls = plan.count.map { max(0, $0 - builder.calls) }
    // The longest duration is what a count has that was given none.
    var remainingMs = plan.count == nil || plan.durationMs < LoadPlan.durationMsMax ? timeMs : nil
    if let remainingCalls {
      let callsMs = Double(remainingCalls) / callsPerSecond * 1_000
      if callsMs < Double(timeMs) { remainingMs = Int64(callsMs) }
    }
    onProgress(
      LoadProgress(
        isWarmingUp: nowNs < measureNs, callsPerSecond: callsPerSecond, p50Ms: second?.p50Ms ?? 0,
        p99Ms: second?.p99Ms ?? 0, calls: builder.calls, errors: builder.errors, remainingCalls: remainingCalls,
        remainingMs: remainingMs))
  }

  private func lastEndNs(_ loops: [BoundLoop]) async throws -> Int64 {
    var lastNs: Int64 = 0
    for one in loops { lastNs = max(lastNs, try await one.on { $0.record.lastNs }) }
    return lastNs
  }

  private func isDone(_ loops: [BoundLoop]) async throws -> Bool {
    for one in loops where try await !one.on({ $0.isDone }) { return false }
    return true
  }

  /// Lets the calls in flight end: by their deadlines, or soon where the run was ended early.
  private func drain(_ loops: [BoundLoop], wasInterrupted: Bool) async throws {
    for one in loops { try await one.on { $0.stop() } }
    let limitNs = Self.nowNs() + (wasInterrupted ? Self.stopMs : plan.timeoutMs + Self.stopMs) * 1_000_000
    while try await !isDone(loops), Self.nowNs() < limitNs {
      if !wasInterrupted, wasStopped.load(ordering: .relaxed) || Task.isCancelled { break }
      try? await Task.sleep(nanoseconds: 5_000_000)
    }
    for one in loops { try await one.on { $0.abandon() } }
  }
}
