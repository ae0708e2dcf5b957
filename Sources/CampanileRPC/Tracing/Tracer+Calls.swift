import CampanileBase

extension Tracer {
  /// Begins the span of an incoming call; returns `nil` if the call is not sampled.
  ///
  /// - Parameters:
  ///   - metadata: Loses an untrusted caller's trace context beyond the limit, so that downstream services do not
  ///     record it either.
  ///   - mayBegin: Whether a call without a decision may begin a trace; on trusted connections the gateway has decided.
  ///   - isTrusted: Whether the call came on a trusted connection.
  ///   - draw: A uniformly distributed random number; evaluated only if needed.
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
}
