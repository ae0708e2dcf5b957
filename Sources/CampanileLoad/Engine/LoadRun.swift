import CampanileBase
internal import CampanileRPC
internal import Foundation
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// The progress of a run.
public struct LoadProgress: Sendable, Hashable {
  public var isWarmingUp: Bool
  /// Rate in the last second. The percentiles cover the same time.
  public var callsPerSecond: Double
  public var p50Ms: Double
  public var p99Ms: Double
  /// Calls finished since the start of the measurement.
  public var calls: Int
  /// Failed calls among `calls`.
  public var errors: Int
  /// Unfinished calls of `LoadPlan.count`; nil without a count.
  public var remainingCalls: Int?
  /// Estimated time to the end of the run; nil if only a count ends it and the current rate is 0.
  ///
  /// It is the remaining duration of the plan, or the time for the remaining calls at the current rate if that is less.
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

/// A load test, from its first call to its report.
///
/// It ends after the plan's duration or number of calls, plus at most about one deadline for the calls in flight.
public final class LoadRun: Sendable {
  private let plan: LoadPlan
  private let requests: RequestSet
  private let target: LoadTarget
  private let wasStopped = Atomic<Bool>(false)

  /// Polling interval of a run without a count: the maximum delay of an early end.
  private static let restMs: Int64 = 250
  /// Polling interval of a run with a count, which must notice the last call.
  private static let countRestMs: Int64 = 50
  /// Maximum time for calls in flight to finish after an early end.
  static let stopMs: Int64 = 1_000

  /// Creates a load test.
  ///
  /// - Throws: `LOAD_PLAN_INVALID` for an invalid plan or target.
  public init(_ plan: LoadPlan, requests: RequestSet, target: LoadTarget) throws(LoadError) {
    try plan.check()
    if !target.isStreaming, plan.stream != StreamPlan() {
      let field = plan.stream.messages == nil ? "--message-rate" : "--messages"
      throw LoadError(.planInvalid, field: field, reason: "applies only to streams, but \(target.method) is unary")
    }
    if case .http = target.transport {
      guard !target.isStreaming else {
        throw LoadError(.planInvalid, field: "--http", reason: "only unary methods can be loaded over HTTP")
      }
      guard plan.connections == plan.concurrency else {
        throw LoadError(
          .planInvalid, field: "--connections",
          reason: "must equal --concurrency over HTTP/1.1, which has one call at a time per connection")
      }
      if let fault = target.metadata.fault() {
        throw LoadError(.planInvalid, field: "--header", reason: fault.message)
      }
    }
    self.plan = plan
    self.requests = requests
    self.target = target
  }

  /// Ends the run early. The report covers the measurements so far.
  public func stop() { wasStopped.store(true, ordering: .relaxed) }

  /// Runs the plan.
  ///
  /// - Parameter onProgress: Called about once per second.
  public func run(onProgress: (LoadProgress) -> Void = { _ in }) async throws -> LoadReport {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: plan.threads)
    do {
      var loops: [BoundLoop] = []
      for (index, eventLoop) in Array(group.makeIterator()).enumerated() {
        loops.append(try await makeLoop(eventLoop, index: index))
      }
      let report = try await measure(loops, onProgress)
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

    func on<R: Sendable>(_ body: @escaping @Sendable (LoadLoop) -> R) async throws -> R {
      try await eventLoop.submit { body(loop.value) }.get()
    }
  }

  private func makeLoop(_ eventLoop: any EventLoop, index: Int) async throws -> BoundLoop {
    @Sendable func share(_ whole: Int) -> Int { whole / plan.threads + (index < whole % plan.threads ? 1 : 0) }
    return try await eventLoop.submit { [plan, requests, target] in
      let driver: any CallDriver =
        switch target.transport {
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
      return BoundLoop(eventLoop: eventLoop, loop: NIOLoopBound(loop, eventLoop: eventLoop))
    }.get()
  }

  // MARK: - time

  private static func nowNs() -> Int64 { Int64(clamping: NIODeadline.now().uptimeNanoseconds) }

  private func measure(_ loops: [BoundLoop], _ onProgress: (LoadProgress) -> Void) async throws -> LoadReport {
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
        // With a count, the measurement ends with the last call, not with this poll.
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
    return builder.report()
  }

  /// Sleeps until the next poll.
  ///
  /// Each poll takes time from a server on the same processor. Short intervals are therefore used only with a count.
  private func rest(until endNs: Int64) async {
    let restNs = (plan.count == nil ? Self.restMs : Self.countRestMs) * 1_000_000
    try? await Task.sleep(nanoseconds: UInt64(max(1_000_000, min(restNs, endNs - Self.nowNs()))))
  }

  private func tell(
    _ onProgress: (LoadProgress) -> Void, _ builder: ReportBuilder, nowNs: Int64, measureNs: Int64, endNs: Int64
  ) {
    let second = builder.seconds.last
    let callsPerSecond = second?.callsPerSecond ?? 0
    let timeMs = max(0, endNs - nowNs) / 1_000_000
    let remainingCalls = plan.count.map { max(0, $0 - builder.calls) }
    // The maximum duration stands for no duration, if a count is given.
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

  /// Waits for the calls in flight: until their deadlines, or up to `stopMs` after an early end. Then cancels the rest.
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
