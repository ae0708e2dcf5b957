internal import NIOCore

extension LoopClient {
  /// Waits on the loop's clock, as the rest of the client does. Returns early if the task is cancelled.
  func pause(forMs delayMs: Int64) async {
    let pause = RetryPause(loop)
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in pause.start(.milliseconds(delayMs), continuation) }
    } onCancel: {
      pause.end()
    }
  }
}

/// A delay between two attempts.
///
/// `@unchecked Sendable`: its variables are accessed on `loop` only.
private final class RetryPause: @unchecked Sendable {
  private let loop: any EventLoop
  private var continuation: UnsafeContinuation<Void, Never>?
  private var timer: Scheduled<Void>?
  private var isOver = false

  init(_ loop: any EventLoop) { self.loop = loop }

  func start(_ delay: TimeAmount, _ continuation: UnsafeContinuation<Void, Never>) {
    loop.execute {
      guard !self.isOver else { return continuation.resume() }
      self.continuation = continuation
      self.timer = self.loop.scheduleTask(in: delay) { self.finish() }
    }
  }

  /// Ends the delay. May be called from any thread, even before the start.
  func end() { loop.execute { self.finish() } }

  private func finish() {
    isOver = true
    timer?.cancel()
    timer = nil
    continuation?.resume()
    continuation = nil
  }
}
