import CampanileRPC
import DequeModule
import Synchronization

/// Spans that wait to be exported, bounded: one too many is dropped and counted. Safe from any thread; taking part in it never
/// waits for an export.
final class SpanQueue: Sendable {
  struct Counts: Sendable, Hashable {
    var exported = 0
    /// The queue was full.
    var dropped = 0
    /// The receiver did not take them.
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

  /// The oldest, at most `countMax`.
  func take(_ countMax: Int) -> [FinishedSpan] {
    state.withLock { state in
      let taken = Array(state.spans.prefix(countMax))
      // A full queue of an array's would be moved for each batch.
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
