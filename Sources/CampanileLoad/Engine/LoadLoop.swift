import CampanileBase
internal import CampanileRPC
internal import NIOCore

/// The part of a run on one event loop: its workers, share of the schedule, and measurements. Use it only on that loop.
final class LoadLoop {
  struct Share: Sendable {
    var index: Int
    var count: Int
    var concurrency: Int
    /// Maximum number of measured calls of this loop; nil for no limit.
    var calls: Int?
  }

  private enum Phase { case waiting, running, stopping }

  let eventLoop: any EventLoop
  let plan: LoadPlan
  let usesReply: Bool
  private let templates: [RequestTemplate]
  private let driver: any CallDriver
  /// The driver, if it uses the suite's RPC protocol.
  let rpc: RPCDriver?
  private var workers: [LoadWorker] = []
  private var idle: [LoadWorker] = []
  /// The measurements of the whole run.
  private(set) var record = LoadRecord()
  private var interval = LoadInterval()
  private var phase = Phase.waiting
  private var state: TemplateState
  private var turn: Int
  private let turnStep: Int
  private var callsLeft: Int?
  private var startNs: Int64 = 0
  private var measureNs: Int64 = 0
  private var endNs: Int64 = 0
  private var schedules: [(offsetNs: Int64, schedule: ArrivalSchedule)] = []
  private var nextDueNs: Int64?
  private var wakingAtNs = Int64.max
  private let isOpenLoop: Bool

  /// Maximum number of arrivals handled in one iteration of the event loop.
  private static let arrivalsMax = 1_000
  /// Pause of a worker after a local failure.
  private static let pauseMs: Int64 = 10

  init(
    _ eventLoop: any EventLoop, plan: LoadPlan, requests: RequestSet, share: Share, driver: any CallDriver,
    nowMs: @escaping () -> Int64
  ) {
    self.eventLoop = eventLoop
    self.plan = plan
    self.driver = driver
    rpc = driver as? RPCDriver
    templates = requests.templates
    usesReply = requests.usesReply
    state = TemplateState(
      random: SplitMix64(seed: plan.seed &+ 0x5EED &* UInt64(share.index + 1)), sequence: UInt64(share.index),
      sequenceStep: UInt64(share.count), nowMs: nowMs)
    turn = share.index
    turnStep = share.count
    callsLeft = share.calls
    if case .open(let rate, let spacing) = plan.pace {
      isOpenLoop = true
      let first: ArrivalRate =
        switch rate {
        case .constant, .steps([]): rate
        case .steps(let rates): .constant(rates[0])
        case .ramp(let from, _): .constant(from)
        }
      func schedule(_ rate: ArrivalRate, _ durationMs: Int64, _ seed: UInt64) -> ArrivalSchedule {
        ArrivalSchedule(
          rate: rate, spacing: spacing, durationMs: durationMs, share: share.index, of: share.count, seed: seed)
      }
      if plan.warmupMs > 0 { schedules.append((0, schedule(first, plan.warmupMs, ~plan.seed))) }
      schedules.append((plan.warmupMs * 1_000_000, schedule(rate, plan.durationMs, plan.seed)))
    } else {
      isOpenLoop = false
    }
    workers = (0..<share.concurrency).map { LoadWorker(index: $0, loop: self) }
    idle = workers.reversed()
  }

  @inline(__always)
  private var nowNs: Int64 { Int64(clamping: NIODeadline.now().uptimeNanoseconds) }

  var inFlight: Int { workers.count - idle.count }
  /// Whether no call is in flight and none will be sent.
  var isDone: Bool {
    inFlight == 0 && (phase == .stopping || callsLeft == 0 || (isOpenLoop && phase == .running && nextDueNs == nil))
  }

  /// Starts the run at a time of the monotonic clock.
  func start(atNs: Int64) {
    startNs = atNs
    measureNs = startNs + plan.warmupMs * 1_000_000
    endNs = measureNs + plan.durationMs * 1_000_000
    schedule(atNs: atNs) { [self] in begin() }
  }

  private func begin() {
    guard phase == .waiting else { return }
    phase = .running
    if isOpenLoop {
      nextDueNs = nextArrival()
      pump()
    } else {
      while let worker = idle.popLast(), next(worker) {}
    }
  }

  /// Returns the measurements since the last call and continues with `fresh`, which the caller allocates in advance.
  func exchangeInterval(_ fresh: LoadInterval) -> LoadInterval {
    defer { interval = fresh }
    return interval
  }

  /// Stops starting calls. Cancels streams, which may not end by themselves.
  func stop() {
    guard phase != .stopping else { return }
    phase = .stopping
    let now = min(nowNs, endNs)
    while let due = nextDueNs, due <= now {
      if due >= measureNs { record.dropped += 1 }
      nextDueNs = nextArrival()
    }
    nextDueNs = nil
    guard driver.isStreaming else { return }
    for worker in workers where worker.isBusy {
      driver.cancel(worker)
      ended(worker, .ok)
    }
  }

  /// Cancels the calls that are still in flight.
  func abandon() {
    for worker in workers where worker.isBusy {
      driver.cancel(worker)
      if worker.isMeasured { record.unfinished += 1 }
      release(worker)
    }
  }

  /// Closes the connections.
  func close() { driver.close() }

  // MARK: - sending

  /// Sends the worker's next call of a closed loop.
  ///
  /// - Returns: False if there are no more calls. The worker is then idle.
  private func next(_ worker: LoadWorker) -> Bool {
    let now = nowNs
    guard phase == .running, now < endNs, take(dueNs: now) else {
      release(worker)
      return false
    }
    send(worker, dueNs: now, nowNs: now)
    return true
  }

  /// Takes a due call from the limit of measured calls; returns false if the limit is reached.
  private func take(dueNs: Int64) -> Bool {
    guard dueNs >= measureNs, let left = callsLeft else { return true }
    callsLeft = max(0, left - 1)
    return left > 0
  }

  @inline(__always)
  private func send(_ worker: LoadWorker, dueNs: Int64, nowNs: Int64) {
    let template = templates[turn % templates.count]
    turn &+= turnStep
    if turn < 0 { turn = 0 }
    if templates.count > 1 || !template.isConstant || worker.request.isEmpty {
      worker.request.removeAll(keepingCapacity: true)
      template.render(into: &worker.request, state: &state, lastReply: worker.lastReply)
    }
    worker.dueNs = dueNs
    worker.sentNs = nowNs
    worker.isMeasured = dueNs >= measureNs
    worker.isBusy = true
    worker.turn &+= 1
    if worker.isMeasured, isOpenLoop, nowNs - dueNs > LoadPlan.lateMs * 1_000_000 { record.late += 1 }
    driver.start(worker, timeoutMs: plan.timeoutMs)
  }

  /// Counts a sent message of a stream during the measurement, which may be shorter than the stream.
  func messageSent() { if nowNs >= measureNs, nowNs < endNs { record.messagesSent += 1 } }

  func messageReceived() { if nowNs >= measureNs, nowNs < endNs { record.messagesReceived += 1 } }

  func ended(_ worker: LoadWorker, _ end: CallEnd) {
    guard worker.isBusy else { return }
    let now = nowNs
    if phase == .running, now >= measureNs, now < endNs { record.endedInTime(nowNs: now) }
    if worker.isMeasured {
      record.ended(status: end.status, dueNs: worker.dueNs, sentNs: worker.sentNs, nowNs: now, isOpenLoop: isOpenLoop)
      interval.ended(status: end.status, latencyNs: UInt64(max(0, now - worker.dueNs)))
      if let message = end.message { record.note(message, status: end.status) }
    }
    worker.isBusy = false
    if end.isLocal, phase == .running {
      // The server cannot be reached: do not retry immediately.
      pause(worker)
    } else if isOpenLoop {
      release(worker)
      pump()
    } else {
      _ = next(worker)
    }
  }

  private func release(_ worker: LoadWorker) {
    worker.isBusy = false
    idle.append(worker)
  }

  private func pause(_ worker: LoadWorker) {
    eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Self.pauseMs)) { [self] in
      if isOpenLoop {
        release(worker)
        pump()
      } else {
        _ = next(worker)
      }
    }
  }

  // MARK: - the schedule

  private func nextArrival() -> Int64? {
    while !schedules.isEmpty {
      if let ns = schedules[0].schedule.next() { return startNs + schedules[0].offsetNs + ns }
      schedules.removeFirst()
    }
    return nil
  }

  /// Sends due calls while workers are idle, and schedules the next run.
  private func pump() {
    guard phase == .running else { return }
    for _ in 0..<Self.arrivalsMax {
      guard let due = nextDueNs else { return }
      let now = nowNs
      if due > now { return wake(atNs: due) }
      if now - due > plan.timeoutMs * 1_000_000 {
        if due >= measureNs { record.dropped += 1 }
      } else {
        guard let worker = idle.popLast() else { return }
        guard take(dueNs: due) else {
          release(worker)
          nextDueNs = nil
          return
        }
        send(worker, dueNs: due, nowNs: now)
      }
      nextDueNs = nextArrival()
    }
    wake(atNs: nowNs)
  }

  /// Schedules the next run of `pump`, unless an earlier one is scheduled.
  @inline(__always)
  private func wake(atNs: Int64) {
    guard atNs < wakingAtNs else { return }
    wakingAtNs = atNs
    schedule(atNs: atNs) { [self] in
      if wakingAtNs == atNs { wakingAtNs = .max }
      pump()
    }
  }

  private func schedule(atNs: Int64, _ task: @escaping () -> Void) {
    let deadline = NIODeadline.uptimeNanoseconds(UInt64(max(0, atNs)))
    eventLoop.assumeIsolated().scheduleTask(deadline: deadline, task)
  }
}
