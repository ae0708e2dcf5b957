public import Logging
import NIOCore
import Synchronization

/// Watches the calls of a server one by one: traces them, and logs those that were slow.
///
/// Of a call that is neither, the end is compared with the threshold.
public final class CallObservation: Sendable {
  /// Slow calls that are logged within a second; of more, the next line tells the number.
  public static let linesPerSecondMax = 10

  let tracer: Tracer?
  let slowNs: Int64
  private let logger: Logger
  private let budget = Mutex(SecondBudget(perSecondMax: CallObservation.linesPerSecondMax))

  /// - Parameters:
  ///   - tracer: `nil` traces nothing.
  ///   - slowMs: unary calls that take so long are logged; 0 logs none.
  public init(tracer: Tracer?, slowMs: Int64, logger: Logger) {
    self.tracer = tracer
    slowNs = slowMs > 0 ? slowMs.multipliedReportingOverflow(by: 1_000_000).partialValue : .max
    self.logger = logger
  }

  fileprivate func log(_ call: ServerCall, _ slow: SlowCall, method: String) {
    let second = Int64(slow.answeredAt.uptimeNanoseconds / 1_000_000_000)
    guard let suppressed = budget.withLock({ $0.take(second: second) }) else { return }
    let decodedAt = max(call.begunAt, call.decodedAt)
    var metadata = slow.facts.logMetadata
    metadata["method"] = .string(method)
    metadata["code"] = .string(slow.code?.name ?? "OK")
    metadata["durationMs"] = Self.milliseconds(slow.durationNs)
    metadata["queueMs"] = Self.milliseconds((call.begunAt - call.startedAt).nanoseconds)
    metadata["decodeMs"] = Self.milliseconds((decodedAt - call.begunAt).nanoseconds)
    metadata["handlerMs"] = Self.milliseconds((slow.answeredAt - decodedAt).nanoseconds)
    if let scope = call.scope, scope.commitNs > 0 { metadata["commitMs"] = Self.milliseconds(scope.commitNs) }
    metadata["encodeMs"] = Self.milliseconds((NIODeadline.now() - slow.answeredAt).nanoseconds)
    for (key, value) in slow.partsMs { metadata[key] = .stringConvertible(value) }
    if suppressed > 0 { metadata["notLogged"] = .stringConvertible(suppressed) }
    logger.notice("a slow call", metadata: metadata)
  }

  private static func milliseconds(_ ns: Int64) -> Logger.Metadata.Value {
    .stringConvertible(Double(max(0, ns) / 1_000) / 1_000)
  }
}

/// Counts and watches the calls of one method: the one object of it that a call holds.
public final class MethodObservation: Sendable {
  /// Requests below this are decoded in no time worth a look at the clock.
  static let timedParamsBytesMin = 4_096
  /// Of methods that no table describes.
  public static let otherName = "_OTHER"

  /// `nil` where calls are neither traced nor logged.
  private let shared: CallObservation?
  private let tracer: Tracer?
  private let recorder: (any MethodRecorder)?
  private let name: String
  private let changes: Bool
  private let isForwarded: Bool
  /// `.max` for streams: how long one takes says nothing.
  private let slowNs: Int64

  /// - Parameters:
  ///   - method: `nil` for all that no table describes.
  ///   - recorder: counts the calls; `nil` where somebody else does.
  ///   - isForwarded: whether a gateway passes them on, which begins traces also on trusted links.
  public init(
    _ method: MethodDescriptor?, _ shared: CallObservation?, recorder: (any MethodRecorder)? = nil,
    isForwarded: Bool = false
  ) {
    self.shared = shared
    tracer = shared?.tracer
    self.recorder = recorder
    self.isForwarded = isForwarded
    name = method?.path ?? Self.otherName
    changes = method.map { $0.idempotency != .noSideEffects } ?? false
    slowNs = method?.kind == .unary ? shared?.slowNs ?? .max : .max
  }

  /// A call has found its method. Called on the call's event loop; the first one counts.
  @inline(__always)
  public func begin(_ call: ServerCall) {
    guard call.observation == nil else { return }
    call.observation = self
    recorder?.callStarted(on: call.lane)
    if slowNs != .max {
      // Who forwards has nothing to do before.
      call.begunAt = isForwarded ? call.startedAt : call.transport.context.latestTime
    }
    let span = tracer?.serverSpan(
      name, &call.metadata, mayBegin: isForwarded || !call.isTrusted, isTrusted: call.isTrusted,
      draw: call.transport.context.random.next())
    if span != nil || changes && slowNs != .max && !isForwarded {
      call.scope = CallScope(span: span, metadata: call.metadata, principal: call.principal)
    }
  }

  /// The params of a call are decoded.
  @inline(__always)
  func decoded(_ call: ServerCall, paramsBytes: Int) {
    if slowNs != .max, paramsBytes >= Self.timedParamsBytesMin { call.decodedAt = call.eventLoop.now }
  }

  /// The call's answer is known, and not written yet.
  @inline(__always)
  func answered(_ call: ServerCall, _ code: RPCError.Code?, at now: NIODeadline) {
    let durationNs = (now - call.startedAt).nanoseconds
    if durationNs >= slowNs {
      call.slow = SlowCall(
        code: code, durationNs: durationNs, answeredAt: now, facts: call.facts, partsMs: call.handler?.partsMs ?? [:])
    }
    if let span = call.scope?.span { end(span, call, code) }
    recorder?.callFinished(code: code, durationNs: durationNs, on: call.lane)
  }

  private func end(_ span: Span, _ call: ServerCall, _ code: RPCError.Code?) {
    let names = call.names
    var told: [FinishedSpan.Attribute] = []
    told.reserveCapacity(6)
    told.append(.init(key: "rpc.system", value: "campanile"))
    told.append(.init(key: "rpc.response.status_code", value: code?.name ?? "OK"))
    if let requestID = names.requestID { told.append(.init(key: "campanile.request_id", value: requestID)) }
    if let principal = names.principal { told.append(.init(key: "enduser.id", value: principal)) }
    if let handler = call.handler { told += handler.spanAttributes }
    span.end(failure: code.flatMap { $0.isServerFailure ? $0.name : nil }, with: told)
  }

  /// The answer of a slow call is written.
  func log(_ call: ServerCall, _ slow: SlowCall) { shared?.log(call, slow, method: name) }
}

/// What is kept of a slow call until its answer is written.
final class SlowCall {
  let code: RPCError.Code?
  let durationNs: Int64
  let answeredAt: NIODeadline
  let facts: CallFacts
  let partsMs: [String: Double]

  init(
    code: RPCError.Code?, durationNs: Int64, answeredAt: NIODeadline, facts: CallFacts, partsMs: [String: Double]
  ) {
    self.code = code
    self.durationNs = durationNs
    self.answeredAt = answeredAt
    self.facts = facts
    self.partsMs = partsMs
  }
}

extension RPCError.Code {
  /// Whether the server failed, not its caller (OpenTelemetry's semantic conventions for RPC).
  public var isServerFailure: Bool {
    switch self {
    case .unknown, .deadlineExceeded, .unimplemented, .internalError, .unavailable, .dataLoss: true
    default: false
    }
  }
}
