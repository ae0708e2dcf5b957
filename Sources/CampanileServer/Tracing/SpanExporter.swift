import CampanileBase
import CampanileRPC
import Logging
import Synchronization

/// A destination for batches of spans: an OTLP receiver over HTTP, or a test.
protocol SpanSending: Sendable {
  /// Sends the JSON of an `ExportTraceServiceRequest`, with a timeout.
  func send(_ body: [UInt8]) async -> SpanSendOutcome
  func close() async
}

enum SpanSendOutcome: Sendable, Hashable {
  case taken
  /// A temporary failure; retry (OTLP: 429, 502, 503, 504, or no connection).
  case busy(String)
  /// A permanent failure; do not retry.
  case refused(String)
}

/// Sends the spans of a queue in batches, one at a time, and drops a batch after a few failed attempts.
final class SpanExporter: Sendable {
  struct Limits: Sendable {
    var batchSpansMax = 512
    /// Maximum pause between batches. A request for every few spans would cost more than the rest of tracing.
    var intervalMs: Int64 = 500
    /// Minimum pause between batches.
    var intervalMsMin: Int64 = 10
    var attemptsMax = 3
    var retryMs: Int64 = 500

    init() {}

    /// Returns the next pause, in which the queue should fill to a quarter of `spansMax` at the current rate.
    ///
    /// The remaining three quarters absorb bursts. The current rate is `count` spans in `lastMs`.
    func pauseMs(after lastMs: Int64, count: Int, spansMax: Int) -> Int64 {
      min(intervalMs, max(intervalMsMin, lastMs * Int64(spansMax / 4) / Int64(max(1, count))))
    }
  }

  let queue: SpanQueue
  private let resource: [FinishedSpan.Attribute]
  private let limits: Limits
  private let sender: any SpanSending
  private let logger: Logger
  private let sleepMs: @Sendable (Int64) async -> Void
  private let isFailing = Atomic(false)
  private let isEnding = Atomic(false)

  init(
    _ queue: SpanQueue, resource: [FinishedSpan.Attribute], sender: any SpanSending, limits: Limits = Limits(),
    logger: Logger,
    sleepMs: @escaping @Sendable (Int64) async -> Void = { try? await Task.sleep(for: .milliseconds($0)) }
  ) {
    self.queue = queue
    self.resource = resource
    self.sender = sender
    self.limits = limits
    self.logger = logger
    self.sleepMs = sleepMs
  }

  /// Exports until `finish` is called or the task is cancelled.
  func run() async {
    var pauseMs = limits.intervalMs
    var countSincePause = 0
    while !isEnding.load(ordering: .relaxed), !Task.isCancelled {
      let count = await exportBatch()
      countSincePause += count
      if count == limits.batchSpansMax { continue }
      pauseMs = limits.pauseMs(after: pauseMs, count: countSincePause, spansMax: queue.spansMax)
      countSincePause = 0
      await sleepMs(pauseMs)
    }
  }

  /// Stops the exporter, exports the remaining spans, and closes the connection.
  ///
  /// Gives up after the first failure or after `timeoutMs`.
  ///
  /// - Parameter running: The task of `run`, which ends as well.
  func finish(after running: Task<Void, Never>, timeoutMs: Int64 = 3_000) async {
    isEnding.store(true, ordering: .relaxed)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [self] in
        await running.value
        while queue.count > 0, !isFailing.load(ordering: .relaxed), !Task.isCancelled { _ = await exportBatch() }
      }
      group.addTask { [self] in
        await sleepMs(timeoutMs)
        running.cancel()
      }
      await group.next()
      group.cancelAll()
    }
    await sender.close()
  }

  /// Exports a batch.
  ///
  /// - Returns: The number of spans in the batch; 0 if the queue was empty.
  func exportBatch() async -> Int {
    let spans = queue.take(limits.batchSpansMax)
    guard !spans.isEmpty else { return 0 }
    let body = OTLPTraces.json(spans, resource: resource)
    var attempt = 1
    while true {
      switch await sender.send(body) {
      case .taken:
        queue.settled(spans.count, isTaken: true)
        if isFailing.exchange(false, ordering: .relaxed) { logger.notice("traces are exported again") }
        return spans.count
      case .busy(let why):
        if attempt < limits.attemptsMax, !isEnding.load(ordering: .relaxed), !Task.isCancelled {
          await sleepMs(limits.retryMs << Int64(attempt - 1))
          attempt += 1
          continue
        }
        giveUp(spans.count, why)
        return spans.count
      case .refused(let why):
        giveUp(spans.count, why)
        return spans.count
      }
    }
  }

  private func giveUp(_ count: Int, _ why: String) {
    queue.settled(count, isTaken: false)
    guard !isFailing.exchange(true, ordering: .relaxed) else { return }
    logger.warning(
      "traces cannot be exported; spans are dropped until the receiver accepts them", metadata: ["reason": "\(why)"])
  }
}
