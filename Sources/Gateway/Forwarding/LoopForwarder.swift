import CampanileBase
import CampanileRPC
import Logging
import NIOCore

/// The forwarder of one event loop: its connections to the backends, and the calls in progress.
///
/// `@unchecked Sendable`: created on one thread and passed to its loop; everything but `loop` is used on `loop` only.
final class LoopForwarder: @unchecked Sendable {
  let loop: any EventLoop
  let logger: Logger
  private(set) var pools: [BackendPool] = []
  private var requestIDs: RequestIDs
  /// A reusable buffer for the metadata that the gateway adds to a call.
  private var members: [UInt8] = []
  private var streams: [ObjectIdentifier: ForwardedCall] = [:]
  /// All calls in progress as a linked list, from the oldest to the newest.
  private var oldest: ForwardedCall?
  private var newest: ForwardedCall?
  private let memory: MemoryGuard
  private let drainMs: Int64
  private var lag: LoopLag
  private var lagTick: RepeatedTask?
  private static let lagPeriodMs: Int64 = 100

  init(
    loop: any EventLoop, backends: [BackendConfiguration], clients: [[RPCClient]], outliers: OutlierPolicy,
    limits: GatewayLimits, breaker: BreakerPolicy, secondAttempts: SecondAttemptPolicy,
    availability: BackendAvailability,
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
        onChange: { [unowned self] in
          availability.set(backend: index, loop: loopIndex, isServing: pools[index].isServing)
        },
        onEjection: { address in
          logger.warning(
            "ejected a backend address", metadata: ["backend": "\(pair.0.name)", "address": "\(address)"])
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

  /// Whether the loop is overloaded or the process is short of memory.
  var isLate: Bool { lag.isLate || memory.isTight }

  func stop() {
    lagTick?.cancel()
    for pool in pools { pool.stop() }
    let refusal = RPCError(.unavailable, "the gateway is shutting down", reason: "GATEWAY_CLOSED")
    for stream in Array(streams.values) { stream.end(refusal) }
  }

  /// Sends a backend's new calls to these clients only. Calls in progress at removed addresses finish there. After
  /// `drainMs`, streams without a deadline are ended, so that their callers resume elsewhere.
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

  /// Applies new limits. Calls in progress continue.
  func apply(_ limits: GatewayLimits, hedgeMs: Int64?) {
    for pool in pools {
      pool.admission.callsMax = limits.backendCallsMax
      pool.admission.streamsMax = limits.backendStreamsMax
      pool.hedge(afterMs: hedgeMs)
    }
  }

  // MARK: Calls in progress, for the operator

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

  /// Returns the oldest calls.
  func openCalls(_ countMax: Int) -> [OpenCallRecord] {
    var records: [OpenCallRecord] = []
    var next = oldest
    while let call = next, records.count < countMax {
      records.append(call.openRecord)
      next = call.newer
    }
    return records
  }

  /// Calls `body` with the metadata members that the gateway adds to a call, as JSON without braces.
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

  /// The size of `traceparent` and its value, which counts towards the metadata's size.
  static let traceSizeBytes = TraceContext.parentKey.utf8.count + TraceContext.parentSizeBytes

  /// Returns the request id of a call.
  func requestID(_ number: UInt64) -> String { requestIDs.text(number) }

  // MARK: Streams, which may outlive the credential that they were opened with

  func add(stream call: ForwardedCall) { streams[ObjectIdentifier(call)] = call }
  func remove(stream call: ForwardedCall) { streams[ObjectIdentifier(call)] = nil }

  /// Ends the streams without a deadline.
  func endStreamsWithoutDeadline() {
    for stream in Array(streams.values) where !stream.hasDeadline { stream.end(BackendFailure.draining) }
  }

  /// Ends the streams whose credential was revoked or has expired.
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

/// A generator of unique request ids: 64 random bits per loop, and a counter.
struct RequestIDs {
  private let head: [UInt8]
  private var count: UInt64 = 0

  init(prefix: UInt64) {
    var head = Array("\"\(PrincipalMetadata.requestIDKey)\":\"".utf8)
    HexadecimalDigits(prefix).append(to: &head)
    head.append(UInt8(ascii: "-"))
    self.head = head
  }

  /// The size of `campanile-request-id` and its 33 characters, which counts towards the metadata's size.
  static let sizeBytes = PrincipalMetadata.requestIDKey.utf8.count + 33

  /// Appends the next id as a member, `"campanile-request-id":"…"`. Returns its number.
  @discardableResult
  mutating func appendNext(to bytes: inout [UInt8]) -> UInt64 {
    count &+= 1
    bytes.append(contentsOf: head)
    HexadecimalDigits(count).append(to: &bytes)
    bytes.append(UInt8(ascii: "\""))
    return count
  }

  /// Returns the request id with this number.
  func text(_ number: UInt64) -> String {
    var bytes = Array(head.suffix(17))
    HexadecimalDigits(number).append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}
