public import CampanileBase
public import Logging
import NIOCore
import Synchronization

/// Traces a server's calls and logs slow ones.
///
/// For a call that is neither traced nor slow, the only cost is comparing its duration with the threshold.
public final class CallObservation: Sendable {
  /// The maximum number of slow calls logged per second; the next line reports the number of omitted ones.
  public static let linesPerSecondMax = 10

  let tracer: Tracer?
  let slowNs: Int64
  private let logger: Logger
  private let budget = Mutex(SecondBudget(perSecondMax: CallObservation.linesPerSecondMax))

  /// - Parameters:
  ///   - tracer: `nil` disables tracing.
  ///   - slowCall: The duration from which unary calls are logged, rounded up to milliseconds; zero disables it.
  public init(tracer: Tracer?, slowCall: Duration, logger: Logger) {
    self.tracer = tracer
    let (ns, overflow) = slowCall.wholeMilliseconds.multipliedReportingOverflow(by: 1_000_000)
    slowNs = ns > 0 && !overflow ? ns : .max
    self.logger = logger
  }

  fileprivate func log(_ call: ServerCall, _ slow: SlowCall, method: String) {
    let second = Int64(slow.answeredAt.uptimeNanoseconds / 1_000_000_000)
    guard let suppressed = budget.withLock({ $0.take(second: second) }) else { return }
    let decodedAt = max(call.begunAt, call.decodedAt)
    var metadata = slow.record.logMetadata
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

/// Records, traces and logs the calls of one method. It is the only object of the method that a call references.
public final class MethodObservation: Sendable {
  /// The minimum size of requests whose decoding is timed; smaller ones are decoded too quickly to justify a clock
  /// read.
  static let timedParamsBytesMin = 4_096
  /// The name for methods without a descriptor.
  public static let otherName = "_OTHER"

  /// `nil` if calls are neither traced nor logged.
  private let shared: CallObservation?
  private let tracer: Tracer?
  private let recorder: (any MethodRecorder)?
  private let name: String
  private let changes: Bool
  private let isForwarded: Bool
  /// The slow-call threshold; `.max` for streams, whose duration is not meaningful.
  private let slowNs: Int64

  /// - Parameters:
  ///   - method: `nil` for all methods without a descriptor.
  ///   - recorder: Records the calls; `nil` if they are recorded elsewhere.
  ///   - isForwarded: Whether a gateway forwards the calls. Forwarded calls may begin traces even on trusted
  ///     connections.
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

  /// Begins the observation of a call whose method is known. Called on the call's event loop; only the first
  /// observation takes effect.
  @inline(__always)
  public func begin(_ call: ServerCall) {
    guard call.observation == nil else { return }
    call.observation = self
    recorder?.callStarted(on: call.shard)
    if slowNs != .max {
      // A gateway does no work before forwarding.
      call.begunAt = isForwarded ? call.startedAt : call.transport.context.latestTime
    }
    let span = tracer?.serverSpan(
      name, &call.metadata, mayBegin: isForwarded || !call.isTrusted, isTrusted: call.isTrusted,
      draw: call.transport.context.random.next())
    if span != nil || changes && slowNs != .max && !isForwarded {
      call.scope = ServerCallScope(span: span, metadata: call.metadata, principal: call.principal)
    }
  }

  /// Records the time at which a call's params were decoded.
  @inline(__always)
  func decoded(_ call: ServerCall, paramsBytes: Int) {
    if slowNs != .max, paramsBytes >= Self.timedParamsBytesMin { call.decodedAt = call.eventLoop.now }
  }

  /// Records the outcome of a call whose response is not written yet.
  @inline(__always)
  func answered(_ call: ServerCall, _ code: RPCError.Code?, at now: NIODeadline) {
    let durationNs = (now - call.startedAt).nanoseconds
    if durationNs >= slowNs {
      call.slow = SlowCall(
        code: code, durationNs: durationNs, answeredAt: now, record: call.record, partsMs: call.handler?.partsMs ?? [:])
    }
    if let span = call.scope?.span { end(span, call, code) }
    recorder?.callFinished(code: code, durationNs: durationNs, on: call.shard)
  }

  private func end(_ span: Span, _ call: ServerCall, _ code: RPCError.Code?) {
    let names = call.names
    var attributes: [FinishedSpan.Attribute] = []
    attributes.reserveCapacity(6)
    attributes.append(.init(key: "rpc.system", value: "campanile"))
    attributes.append(.init(key: "rpc.response.status_code", value: code?.name ?? "OK"))
    if let requestID = names.requestID { attributes.append(.init(key: "campanile.request_id", value: requestID)) }
    if let principal = names.principal { attributes.append(.init(key: "enduser.id", value: principal)) }
    if let handler = call.handler { attributes += handler.spanAttributes }
    span.end(failure: code.flatMap { $0.isServerFailure ? $0.name : nil }, with: attributes)
  }

  /// Logs a slow call once its response is written.
  func log(_ call: ServerCall, _ slow: SlowCall) { shared?.log(call, slow, method: name) }
}

/// A slow call's data until its response is written.
final class SlowCall {
  let code: RPCError.Code?
  let durationNs: Int64
  let answeredAt: NIODeadline
  let record: CallRecord
  let partsMs: [String: Double]

  init(
    code: RPCError.Code?, durationNs: Int64, answeredAt: NIODeadline, record: CallRecord, partsMs: [String: Double]
  ) {
    self.code = code
    self.durationNs = durationNs
    self.answeredAt = answeredAt
    self.record = record
    self.partsMs = partsMs
  }
}

extension RPCError.Code {
  /// Whether the code means a failure of the server, not of its caller (OpenTelemetry's semantic conventions for RPC).
  public var isServerFailure: Bool {
    switch self {
    case .unknown, .deadlineExceeded, .unimplemented, .internalError, .unavailable, .dataLoss: true
    default: false
    }
  }
}
