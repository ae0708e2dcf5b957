import Synchronization

/// Decides which calls are traced, and makes their spans. Safe from any thread.
///
/// A call that says whether it is sampled is believed; of the others `ratio` are, chosen by chance. Of both, so many within a
/// second; only what comes on a link of the suite's own is always recorded. What is not sampled costs neither memory nor a look
/// at the clock.
public final class Tracer: Sendable {
  /// The wall clock in nanoseconds since 1970.
  let nowNs: @Sendable () -> UInt64
  private let onFinish: @Sendable (FinishedSpan) -> Void
  /// A number below it, of all there are, begins a trace.
  private let threshold: UInt64
  private let sequence: Atomic<UInt64>
  private let budget: Mutex<SecondBudget>
  private let limited = Atomic<Int>(0)

  /// - Parameters:
  ///   - ratio: 0 to 1, of the calls that come without a decision.
  ///   - tracesPerSecondMax: traces that begin here, or that strangers ask for, within a second.
  ///   - seed: of the ids, which must differ from those of every other process.
  ///   - onFinish: told of each span on the thread that ended it; must not block.
  public init(
    ratio: Double, tracesPerSecondMax: Int = .max, nowNs: @escaping @Sendable () -> UInt64,
    seed: UInt64 = .random(in: .min ... .max),
    onFinish: @escaping @Sendable (FinishedSpan) -> Void
  ) {
    threshold = ratio >= 1 ? .max : ratio > 0 ? UInt64(ratio * 0x1p63) << 1 : 0
    self.nowNs = nowNs
    self.onFinish = onFinish
    sequence = Atomic(seed)
    budget = Mutex(SecondBudget(perSecondMax: tracesPerSecondMax))
  }

  /// Traces that were not recorded because there were too many in their second.
  public var limitedTraces: Int { limited.load(ordering: .relaxed) }

  /// Begins the span of a call that has arrived; `nil` when it is not sampled.
  ///
  /// - Parameters:
  ///   - metadata: loses the trace of a stranger that is one too many, so that nobody behind records it either.
  ///   - mayBegin: whether a call without a decision may begin a trace; on links of the suite the gateway has decided.
  ///   - isTrusted: whether the call came on such a link.
  ///   - draw: any number with the same chance; asked for where chance decides.
  @inline(__always)
  func serverSpan(
    _ name: String, _ metadata: inout Metadata, mayBegin: Bool, isTrusted: Bool = false, draw: @autoclosure () -> UInt64
  ) -> Span? {
    if metadata.index(of: TraceContext.parentKey) != nil, let parent = TraceContext(metadata) {
      return parent.isSampled ? span(name, in: parent, &metadata, isTrusted: isTrusted) : nil
    }
    return mayBegin && isChosen(draw()) && mayRecord() ? span(name, .server, in: nil) : nil
  }

  private func span(
    _ name: String, in parent: TraceContext, _ metadata: inout Metadata, isTrusted: Bool
  ) -> Span? {
    if isTrusted || mayRecord() { return span(name, .server, in: parent) }
    metadata.remove(TraceContext.parentKey)
    metadata.remove(TraceContext.stateKey)
    return nil
  }

  private func mayRecord() -> Bool {
    let second = Int64(clamping: nowNs() / 1_000_000_000)
    if budget.withLock({ $0.take(second: second) }) != nil { return true }
    limited.add(1, ordering: .relaxed)
    return false
  }

  /// Begins a span: the next one of `parent`, or the first of a new trace.
  public func span(_ name: String, _ kind: Span.Kind, in parent: TraceContext?) -> Span {
    let record = FinishedSpan(
      traceIDHigh: parent?.traceIDHigh ?? random(), traceIDLow: parent?.traceIDLow ?? nonZero(), spanID: nonZero(),
      parentSpanID: parent?.spanID ?? 0, name: name, kind: kind, startNs: nowNs(), endNs: 0)
    return Span(tracer: self, record: record, state: parent?.state ?? "")
  }

  /// The same for a context that was kept as text; `nil` when there is none or it is not sampled.
  public func span(_ name: String, _ kind: Span.Kind, after text: String?) -> Span? {
    guard let text, let parent = TraceContext(text: text), parent.isSampled else { return nil }
    return span(name, kind, in: parent)
  }

  func finished(_ span: FinishedSpan) { onFinish(span) }

  private func nonZero() -> UInt64 { max(1, random()) }

  @inline(__always)
  private func isChosen(_ draw: @autoclosure () -> UInt64) -> Bool {
    if threshold == 0 { return false }
    if threshold == .max { return true }
    return draw() < threshold
  }

  /// SplitMix64 that all threads share, for the ids of what is recorded.
  @inline(__always)
  private func random() -> UInt64 {
    SplitMix64.mixed(sequence.wrappingAdd(SplitMix64.step, ordering: .relaxed).newValue)
  }
}
