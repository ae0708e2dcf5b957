import CampanileRPC
import Logging
import Synchronization

/// What takes a batch of spans: a receiver of OTLP over HTTP, or a test.
protocol SpanSending: Sendable {
  /// Sends the JSON of an `ExportTraceServiceRequest`. Bounded in time.
  func send(_ body: [UInt8]) async -> SpanSendOutcome
  func close() async
}

enum SpanSendOutcome: Sendable, Hashable {
  case taken
  /// Worth another attempt (OTLP: 429, 502, 503, 504, or nobody there).
  case busy(String)
  /// The receiver will never take it.
  case refused(String)
}

/// Sends the spans of a queue in batches, one at a time, and gives up what a receiver does not take after a few attempts.
final class SpanExporter: Sendable {
  struct Limits: Sendable {
    var batchSpansMax = 512
    /// The longest pause between two looks at the queue. A request for every few spans would cost more than all else of tracing.
    var intervalMs: Int64 = 500
    /// The shortest one.
    var intervalMsMin: Int64 = 10
    var attemptsMax = 3
    var retryMs: Int64 = 500

    init() {}

    /// How long the exporter rests when a pause of `lastMs` brought `count` spans: so long that they fill a quarter of a queue
    /// for `spansMax`, which leaves room for three times as many.
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

  /// Exports until `finish`, or until the task is cancelled.
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

  /// Exports what waits, as long as the receiver takes it and at most for `timeoutMs`, and ends the connection.
  ///
  /// - Parameter running: the task of `run`, which ends.
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

  /// One batch. Answers how many spans it had: 0 when nothing waited.
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
    logger.warning("traces cannot be exported, and are dropped until they can", metadata: ["reason": "\(why)"])
  }
}
