internal import NIOCore

extension LoopClient {
  /// Waits by the loop's clock, as everything of the client does. Returns early when the task is cancelled.
  func pause(forMs delayMs: Int64) async {
    let pause = RetryPause(loop)
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in pause.start(.milliseconds(delayMs), continuation) }
    } onCancel: {
      pause.end()
    }
  }
}

/// A wait between two attempts.
///
/// `@unchecked Sendable`: its variables are touched on `loop` only.
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

  /// From any thread, also before the start.
  func end() { loop.execute { self.finish() } }

  private func finish() {
    isOver = true
    timer?.cancel()
    timer = nil
    continuation?.resume()
    continuation = nil
  }
}
