internal import CampanileRPC
internal import NIOCore

/// The part of a run on one event loop: its lanes, its share of the schedule and what it measured. Used on that loop only.
final class LoadLoop {
  struct Share: Sendable {
    var index: Int
    var count: Int
    var concurrency: Int
    /// Measured calls that this loop may start; `nil` is no limit.
    var calls: Int?
  }

  private enum Phase { case waiting, running, stopping }

  let eventLoop: any EventLoop
  let plan: LoadPlan
  let usesReply: Bool
  private let templates: [RequestTemplate]
  private let driver: any CallDriver
  /// The driver, where it is that of the suite's own wire.
  let rpc: RPCDriver?
  private var lanes: [LoadLane] = []
  private var idle: [LoadLane] = []
  /// All that was measured.
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
  /// Whether the server may want the processor that this loop is on; see `ProcessorWatch`.
  private var sharesProcessor = false
  private var slack = ReplySlack()
  private var hasSlackTimer = false

  /// Arrivals that are looked at in one turn of the loop.
  private static let arrivalsMax = 1_000
  /// The pause of a lane whose call failed without an answer.
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
    lanes = (0..<share.concurrency).map { LoadLane(index: $0, loop: self) }
    idle = lanes.reversed()
  }

  @inline(__always)
  private var nowNs: Int64 { Int64(clamping: NIODeadline.now().uptimeNanoseconds) }

  var inFlight: Int { lanes.count - idle.count }
  /// Whether nothing is in flight and nothing will be sent any more.
  var isDone: Bool {
    inFlight == 0 && (phase == .stopping || callsLeft == 0 || (isOpenLoop && phase == .running && nextDueNs == nil))
  }

  /// Begins at `startNs` of the monotonic clock.
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
      while let lane = idle.popLast(), next(lane) {}
    }
  }

  /// Answers what was measured since it was last asked, and goes on with `fresh`: whoever asks has made the room.
  func exchangeInterval(_ fresh: LoadInterval) -> LoadInterval {
    defer { interval = fresh }
    return interval
  }

  /// From now on due calls wait for a reply to go with.
  func shareProcessor() { sharesProcessor = true }

  /// Starts no more calls. Streams, which may not end by themselves, end here.
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
    for lane in lanes where lane.isBusy {
      driver.cancel(lane)
      ended(lane, .ok)
    }
  }

  /// Gives up what is still in flight.
  func abandon() {
    for lane in lanes where lane.isBusy {
      driver.cancel(lane)
      if lane.isMeasured { record.unfinished += 1 }
      release(lane)
    }
  }

  /// Closes the connections.
  func close() { driver.close() }

  // MARK: - sending

  /// Sends the lane's next call of a closed loop; false, and idle, when there is none.
  private func next(_ lane: LoadLane) -> Bool {
    let now = nowNs
    guard phase == .running, now < endNs, take(dueNs: now) else {
      release(lane)
      return false
    }
    send(lane, dueNs: now, nowNs: now)
    return true
  }

  /// Counts a call that is due; false when the measured calls are used up.
  private func take(dueNs: Int64) -> Bool {
    guard dueNs >= measureNs, let left = callsLeft else { return true }
    callsLeft = max(0, left - 1)
    return left > 0
  }

  @inline(__always)
  private func send(_ lane: LoadLane, dueNs: Int64, nowNs: Int64) {
    let template = templates[turn % templates.count]
    turn &+= turnStep
    if turn < 0 { turn = 0 }
    if templates.count > 1 || !template.isConstant || lane.request.isEmpty {
      lane.request.removeAll(keepingCapacity: true)
      template.render(into: &lane.request, state: &state, lastReply: lane.lastReply)
    }
    lane.dueNs = dueNs
    lane.sentNs = nowNs
    lane.isMeasured = dueNs >= measureNs
    lane.isBusy = true
    lane.turn &+= 1
    if lane.isMeasured, isOpenLoop, nowNs - dueNs > LoadPlan.lateMs * 1_000_000 { record.late += 1 }
    driver.start(lane, timeoutMs: plan.timeoutMs)
  }

  /// A call has sent a message of its stream. Messages count by their own time: a stream may last longer than the measured part.
  func messageSent() { if nowNs >= measureNs, nowNs < endNs { record.messagesSent += 1 } }

  func messageReceived() { if nowNs >= measureNs, nowNs < endNs { record.messagesReceived += 1 } }

  func ended(_ lane: LoadLane, _ end: CallEnd) {
    guard lane.isBusy else { return }
    let now = nowNs
    if phase == .running, now >= measureNs, now < endNs { record.endedInTime(nowNs: now) }
    if lane.isMeasured {
      record.ended(status: end.status, dueNs: lane.dueNs, sentNs: lane.sentNs, nowNs: now, isOpenLoop: isOpenLoop)
      interval.ended(status: end.status, latencyNs: UInt64(max(0, now - lane.dueNs)))
      if let message = end.message { record.note(message, status: end.status) }
    }
    lane.isBusy = false
    if end.isLocal, phase == .running {
      // Whoever cannot be reached is not asked again at once.
      pause(lane)
    } else if isOpenLoop {
      release(lane)
      pump()
    } else {
      _ = next(lane)
    }
  }

  private func release(_ lane: LoadLane) {
    lane.isBusy = false
    idle.append(lane)
  }

  private func pause(_ lane: LoadLane) {
    eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Self.pauseMs)) { [self] in
      if isOpenLoop {
        release(lane)
        pump()
      } else {
        _ = next(lane)
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

  /// Sends what is due, as far as lanes are free, and comes back for the next.
  private func pump() {
    guard phase == .running else { return }
    for _ in 0..<Self.arrivalsMax {
      guard let due = nextDueNs else { return }
      let now = nowNs
      if due > now { return comeBack(dueNs: due, nowNs: now) }
      if now - due > plan.timeoutMs * 1_000_000 {
        if due >= measureNs { record.dropped += 1 }
      } else {
        guard let lane = idle.popLast() else { return }
        guard take(dueNs: due) else {
          release(lane)
          nextDueNs = nil
          return
        }
        send(lane, dueNs: due, nowNs: now)
      }
      nextDueNs = nextArrival()
    }
    wake(atNs: nowNs)
  }

  /// While calls are in flight a reply comes by itself, and sends what is due: who shares the server's processor waits for it. Streams end
  /// too seldom to wait for.
  @inline(__always)
  private func comeBack(dueNs: Int64, nowNs: Int64) {
    guard sharesProcessor, inFlight > 0, !driver.isStreaming else { return wake(atNs: dueNs) }
    slack.turn(nowNs: nowNs)
    guard !hasSlackTimer else { return }
    hasSlackTimer = true
    schedule(atNs: max(dueNs, nowNs + slack.ns)) { [self] in
      hasSlackTimer = false
      slack.fired(nowNs: self.nowNs)
      pump()
    }
  }

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
