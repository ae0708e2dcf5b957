import CampanileBase
import CampanileCall
import Foundation

extension HTTPCaller {
  /// Runs attempts of a unary call until one succeeds, or until the retry rules give up.
  func repeating(
    _ options: CallOptions, mayRepeat: Bool, deadlineMs: Int64, _ attempt: () async throws(RPCError) -> [UInt8]
  ) async throws(RPCError) -> [UInt8] {
    var number = 1
    while true {
      do throws(RPCError) {
        let response = try await attempt()
        budget.withLock { $0.succeeded() }
        return response
      } catch {
        guard
          let delayMs = retryDelayMs(after: error, number, options, mayRepeat: mayRepeat, deadlineMs: deadlineMs)
        else { throw error }
        do { try await environment.sleepMs(delayMs) } catch { throw LocalFailure.cancelled() }
        number += 1
      }
    }
  }

  /// Returns the pause before the next attempt; `nil` if the error is final.
  func retryDelayMs(
    after error: RPCError, _ attempt: Int, _ options: CallOptions, mayRepeat: Bool, deadlineMs: Int64
  ) -> Int64? {
    var judged = error
    // A requested delay means that the call may succeed after it.
    if error.retryAfterMs != nil, error.code == .resourceExhausted || error.code == .aborted {
      judged.code = .unavailable
    }
    let remainingMs = deadlineMs - environment.nowMs()
    let random = environment.random()
    let delayMs = budget.withLock { budget in
      configuration.retryPolicy.delayMs(
        after: judged, attempt: attempt, attemptsMax: options.attemptsMax, allowsRetry: mayRepeat,
        remainingMs: remainingMs, budget: &budget, random: random)
    }
    guard let delayMs else { return nil }
    // Clients that were refused together must not return together.
    let spreadMs = Int64(Double(error.retryAfterMs ?? 0) * configuration.retryPolicy.jitter * random)
    return delayMs + spreadMs < remainingMs ? delayMs + spreadMs : nil
  }

  /// Makes one attempt of a unary call, and a second one if the credential was refused and has a replacement.
  func attempt(
    _ method: MethodDescriptor, _ json: [UInt8], _ options: CallOptions, deadlineMs: Int64
  ) async throws(RPCError) -> [UInt8] {
    try await authenticated { (credential) async throws(RPCError) in
      let remainingMs = deadlineMs - self.environment.nowMs()
      guard remainingMs > 0 else { throw LocalFailure.deadlineExceeded(processed: false) }
      guard !Task.isCancelled else { throw LocalFailure.cancelled(processed: false) }
      let request = try ConnectRequest.unary(
        self.url, method, json, options.metadata, credential, timeoutMs: remainingMs,
        allowsCleartext: self.configuration.allowsCleartext)
      let exchange = UnaryExchange(sizeBytesMax: self.configuration.responseBytesMax)
      let timer = self.timer(remainingMs) {
        exchange.finish(.failure(LocalFailure.deadlineExceeded(processed: true)))
      }
      defer { timer.cancel() }
      return try await exchange.run(request, self.transport)
    }
  }

  /// Runs a streaming call: waits until it is open, and then for its deadline.
  func run(
    _ call: StreamCall, _ method: MethodDescriptor, _ body: [UInt8], _ options: CallOptions, deadlineMs: Int64?
  ) async {
    do throws(RPCError) {
      if let fault = options.metadata.fault() { throw fault }
      try await authenticated { (credential) async throws(RPCError) in
        try await self.open(call, method, body, options, credential, deadlineMs: deadlineMs)
      }
    } catch {
      call.finish(.failed(error))
    }
  }

  private func open(
    _ call: StreamCall, _ method: MethodDescriptor, _ body: [UInt8], _ options: CallOptions, _ credential: Credential?,
    deadlineMs: Int64?
  ) async throws(RPCError) {
    let remainingMs = deadlineMs.map { $0 - environment.nowMs() }
    if let remainingMs, remainingMs <= 0 { throw LocalFailure.deadlineExceeded(processed: false) }
    let request = try ConnectRequest.stream(
      url, method, body, options.metadata, credential, timeoutMs: remainingMs,
      allowsCleartext: configuration.allowsCleartext)
    let attempt = StreamAttempt(call, messageBytesMax: configuration.responseBytesMax)
    let silence = timer(configuration.timeoutMs) {
      attempt.finish(LocalFailure.connectionLost("the server does not respond", processed: true))
    }
    let deadline = remainingMs.map { remainingMs in
      timer(remainingMs) { attempt.finish(LocalFailure.deadlineExceeded(processed: true)) }
    }
    defer { silence.cancel() }
    do throws(RPCError) {
      try await attempt.open(request, transport)
    } catch {
      deadline?.cancel()
      throw error
    }
    call.onEnd {
      deadline?.cancel()
      attempt.stop()
    }
  }

  /// Runs `body` with the current credential, and once more if it was refused and has a replacement.
  func authenticated<R>(
    _ body: (Credential?) async throws(RPCError) -> R
  ) async throws(RPCError) -> R {
    var credential = try await credentials.credential()
    var isReplaced = false
    while true {
      do throws(RPCError) {
        return try await body(credential)
      } catch {
        guard error.code == .unauthenticated, !isReplaced, let refused = credential,
          let replacement = try await credentials.replacement(for: refused), replacement != refused
        else { throw error }
        (credential, isReplaced) = (replacement, true)
      }
    }
  }

  /// Runs `action` after a time, unless the task is cancelled.
  func timer(_ delayMs: Int64, _ action: @escaping @Sendable () -> Void) -> Task<Void, Never> {
    let sleepMs = environment.sleepMs
    return Task {
      do { try await sleepMs(delayMs) } catch { return }
      action()
    }
  }
}
