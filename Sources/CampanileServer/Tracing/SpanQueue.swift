import CampanileBase
import CampanileRPC
import DequeModule
import Synchronization

/// A bounded queue of spans to export. If the queue is full, further spans are dropped and counted.
///
/// Safe to use from any thread. No operation waits for an export.
final class SpanQueue: Sendable {
  struct Counts: Sendable, Hashable {
    var exported = 0
    /// Spans dropped because the queue was full.
    var dropped = 0
    /// Spans that the receiver did not accept.
    var failed = 0
  }

  private struct State {
    var spans: Deque<FinishedSpan> = []
    var counts = Counts()
  }

  let spansMax: Int
  private let state = Mutex(State())

  init(spansMax: Int = 8_192) { self.spansMax = spansMax }

  func append(_ span: FinishedSpan) {
    state.withLock { state in
      guard state.spans.count < spansMax else { return state.counts.dropped += 1 }
      state.spans.append(span)
    }
  }

  /// Removes and returns the oldest spans, at most `countMax`.
  func take(_ countMax: Int) -> [FinishedSpan] {
    state.withLock { state in
      let taken = Array(state.spans.prefix(countMax))
      // Cheap with a deque; an array would move the remaining spans for each batch.
      state.spans.removeFirst(taken.count)
      return taken
    }
  }

  func settled(_ count: Int, isTaken: Bool) {
    state.withLock { state in
      if isTaken { state.counts.exported += count } else { state.counts.failed += count }
    }
  }

  var counts: Counts { state.withLock { $0.counts } }
  var count: Int { state.withLock { $0.spans.count } }
}
