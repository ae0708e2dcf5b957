import Synchronization

/// Decides which calls are traced, and creates their spans. Safe from any thread.
///
/// A call's own sampling decision is respected; of the calls without one, a random fraction of `ratio` is sampled. Both
/// are limited to a number per second, except calls that arrive sampled on a trusted connection. A call that is not
/// sampled costs neither memory nor a clock read.
public final class Tracer: Sendable {
  /// Returns the wall clock time in nanoseconds since 1970.
  let nowNs: @Sendable () -> UInt64
  private let onFinish: @Sendable (FinishedSpan) -> Void
  /// A random number below it begins a trace.
  @usableFromInline let threshold: UInt64
  private let sequence: Atomic<UInt64>
  private let budget: Mutex<SecondBudget>
  private let limited = Atomic<Int>(0)

  /// - Parameters:
  ///   - ratio: The fraction, 0 to 1, of calls without a sampling decision to trace.
  ///   - tracesPerSecondMax: The maximum number of traces per second that begin here or are requested by untrusted
  ///     callers.
  ///   - seed: The seed of the ids, which must differ from that of every other process.
  ///   - onFinish: Receives each span on the thread that ended it; must not block.
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

  /// The number of traces that were not recorded because of the limit per second.
  public var limitedTraces: Int { limited.load(ordering: .relaxed) }

  /// Takes one trace from this second's budget; returns false if the budget is exhausted.
  public func mayRecord() -> Bool {
    let second = Int64(clamping: nowNs() / 1_000_000_000)
    if budget.withLock({ $0.take(second: second) }) != nil { return true }
    limited.add(1, ordering: .relaxed)
    return false
  }

  /// Begins a span: a child of `parent`, or the root of a new trace.
  public func span(_ name: String, _ kind: Span.Kind, in parent: TraceContext?) -> Span {
    let record = FinishedSpan(
      traceIDHigh: parent?.traceIDHigh ?? random(), traceIDLow: parent?.traceIDLow ?? nonZero(), spanID: nonZero(),
      parentSpanID: parent?.spanID ?? 0, name: name, kind: kind, startNs: nowNs(), endNs: 0)
    return Span(tracer: self, record: record, state: parent?.state ?? "")
  }

  /// Begins a child of a context that was stored as text; returns `nil` if there is none or it is not sampled.
  public func span(_ name: String, _ kind: Span.Kind, after text: String?) -> Span? {
    guard let text, let parent = TraceContext(text: text), parent.isSampled else { return nil }
    return span(name, kind, in: parent)
  }

  func finished(_ span: FinishedSpan) { onFinish(span) }

  private func nonZero() -> UInt64 { max(1, random()) }

  /// Returns whether to sample a call without a sampling decision.
  ///
  /// - Parameter draw: A uniformly distributed random number; evaluated only if needed.
  @inlinable
  @inline(__always)
  public func isChosen(_ draw: @autoclosure () -> UInt64) -> Bool {
    if threshold == 0 { return false }
    if threshold == .max { return true }
    return draw() < threshold
  }

  /// Returns the next number of a SplitMix64 generator shared by all threads, for the ids of recorded spans.
  @inline(__always)
  private func random() -> UInt64 {
    SplitMix64.mixed(sequence.wrappingAdd(SplitMix64.step, ordering: .relaxed).newValue)
  }
}
