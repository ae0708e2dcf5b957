import CampanileRPC
import Logging
import NIOCore

/// The forwarding of one event loop: its connections to the backends, and the calls that are streams.
///
/// `@unchecked Sendable`: it is made on one thread and handed to its loop; everything but `loop` is touched on `loop` only.
final class LoopForwarder: @unchecked Sendable {
  let loop: any EventLoop
  let logger: Logger
  private(set) var pools: [BackendPool] = []
  private var requestIDs: RequestIDs
  /// Where the metadata that the gateway adds is put together, one call after the other.
  private var members: [UInt8] = []
  private var streams: [ObjectIdentifier: ForwardedCall] = [:]
  /// All calls under way, from the oldest to the newest, each knowing its neighbours.
  private var oldest: ForwardedCall?
  private var newest: ForwardedCall?
  private let memory: MemoryGuard
  private let drainMs: Int64
  private var lag: LoopLag
  private var lagTick: RepeatedTask?
  private static let lagPeriodMs: Int64 = 100

  init(
    loop: any EventLoop, backends: [BackendConfiguration], clients: [[RPCClient]], outliers: OutlierPolicy,
    limits: LimitPolicy, breaker: BreakerPolicy, secondAttempts: SecondAttemptPolicy, board: BackendBoard,
    loopIndex: Int, memory: MemoryGuard, drainMs: Int64, logger: Logger,
    random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
  ) {
    self.loop = loop
    self.memory = memory
    self.drainMs = drainMs
    self.logger = logger
    lag = LoopLag(lateMs: limits.loopLateMs)
    requestIDs = RequestIDs(prefix: random())
    pools = zip(backends, clients).enumerated().map { index, pair in
      BackendPool(
        pair.0, clients: pair.1, loop: loop, outliers: outliers, limits: limits,
        breaker: breaker, retries: secondAttempts, seed: random(),
        onChange: { [unowned self] in board.set(backend: index, loop: loopIndex, isServing: pools[index].isServing) },
        onEjection: { address in
          logger.warning(
            "a backend's address is left out", metadata: ["backend": "\(pair.0.name)", "address": "\(address)"])
        })
    }
  }

  func start() {
    for pool in pools { pool.start() }
    let period = TimeAmount.milliseconds(Self.lagPeriodMs)
    lagTick = loop.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in
      self.lag.tick(nowNs: self.loop.now.nowNs, periodMs: Self.lagPeriodMs)
    }
  }

  /// Whether the loop has more to do than it can, or the process more to remember than it may.
  var isLate: Bool { lag.isLate || memory.isTight }

  func stop() {
    lagTick?.cancel()
    for pool in pools { pool.stop() }
    let refusal = RPCError(.unavailable, "the gateway is going away", reason: "GATEWAY_CLOSED")
    for stream in Array(streams.values) { stream.end(refusal) }
  }

  /// Has the calls of a backend go to these addresses from now on. What is under way at others ends there; streams that nothing else
  /// would end are ended after a while, so that their callers go on elsewhere.
  func update(backend index: Int, clients: [RPCClient], onUnused: @escaping (RPCClient) -> Void) {
    let pool = pools[index]
    let left = pool.replace(clients, onUnused: onUnused)
    guard !left.isEmpty else { return }
    loop.assumeIsolated().scheduleTask(in: .milliseconds(drainMs)) { [weak self] in
      guard let self else { return }
      for stream in Array(streams.values) where !stream.hasDeadline {
        if left.contains(where: { $0 === stream.address }) { stream.end(BackendFailure.moved(pool.name)) }
      }
    }
  }

  /// Takes up other limits. What is under way stays.
  func apply(_ limits: LimitPolicy, hedgeMs: Int64?) {
    for pool in pools {
      pool.admission.callsMax = limits.backendCallsMax
      pool.admission.streamsMax = limits.backendStreamsMax
      pool.hedge(afterMs: hedgeMs)
    }
  }

  // MARK: all calls under way, for the operator

  @inline(__always)
  func opened(_ call: ForwardedCall) {
    call.older = newest
    if let newest { newest.newer = call } else { oldest = call }
    newest = call
  }

  @inline(__always)
  func closed(_ call: ForwardedCall) {
    let (older, newer) = (call.older, call.newer)
    if let older { older.newer = newer } else { oldest = newer }
    if let newer { newer.older = older } else { newest = older }
    call.older = nil
    call.newer = nil
  }

  /// The oldest ones.
  func openCalls(_ countMax: Int) -> [OpenCallFacts] {
    var facts: [OpenCallFacts] = []
    var next = oldest
    while let call = next, facts.count < countMax {
      facts.append(call.openFacts)
      next = call.newer
    }
    return facts
  }

  /// Hands `body` the metadata members that a call gets from the gateway, as JSON without braces.
  @inline(__always)
  func withMembers<R>(
    _ principal: [UInt8], _ call: ForwardedCall, _ body: (UnsafeRawBufferPointer) -> R
  ) -> R {
    members.removeAll(keepingCapacity: true)
    members.append(contentsOf: principal)
    if !principal.isEmpty { members.append(UInt8(ascii: ",")) }
    call.trace?.appendMember(to: &members)
    call.number = requestIDs.appendNext(to: &members)
    return members.withUnsafeBytes(body)
  }

  /// `traceparent` and its value count towards the metadata's size.
  static let traceSizeBytes = TraceContext.parentKey.utf8.count + TraceContext.parentSizeBytes

  /// The request id of a call.
  func requestID(_ number: UInt64) -> String { requestIDs.text(number) }

  // MARK: streams, which may outlive the key that they were opened with

  func add(stream call: ForwardedCall) { streams[ObjectIdentifier(call)] = call }
  func remove(stream call: ForwardedCall) { streams[ObjectIdentifier(call)] = nil }

  /// Ends the streams that may go on for ever.
  func endStreamsWithoutDeadline() {
    let draining = RPCError(.unavailable, "the gateway is going away", reason: "GATEWAY_DRAINING")
    for stream in Array(streams.values) where !stream.hasDeadline { stream.end(draining) }
  }

  /// Ends the streams whose key has been revoked or has expired.
  func endStale(nowMs: Int64) {
    for stream in Array(streams.values) {
      if let fault = stream.credential?.fault(nowMs: { nowMs }) {
        var fault = fault
        fault.processed = true
        stream.end(fault)
      }
    }
  }
}

/// Gives every call of a loop a name that no other call has: 64 random bits of the loop's, and a count.
struct RequestIDs {
  private let head: [UInt8]
  private var count: UInt64 = 0

  init(prefix: UInt64) {
    var head = Array("\"\(PrincipalMetadata.requestIDKey)\":\"".utf8)
    HexadecimalDigits(prefix).append(to: &head)
    head.append(UInt8(ascii: "-"))
    self.head = head
  }

  /// `campanile-request-id`, `-` and 33 characters count towards the metadata's size.
  static let sizeBytes = PrincipalMetadata.requestIDKey.utf8.count + 33

  /// Appends the next one as a member: `"campanile-request-id":"…"`. Answers its number.
  @discardableResult
  mutating func appendNext(to bytes: inout [UInt8]) -> UInt64 {
    count &+= 1
    bytes.append(contentsOf: head)
    HexadecimalDigits(count).append(to: &bytes)
    bytes.append(UInt8(ascii: "\""))
    return count
  }

  /// The request id of this number.
  func text(_ number: UInt64) -> String {
    var bytes = Array(head.suffix(17))
    HexadecimalDigits(number).append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}
