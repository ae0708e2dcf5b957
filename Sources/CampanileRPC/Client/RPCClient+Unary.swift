public import CampanileBase
public import CampanileCodec
internal import NIOCore

extension RPCClient {
  /// Sends one request and returns its response. Throws INTERNAL `REPLY_INVALID` if the response is not an `R`.
  public func unary<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions = CallOptions()
  ) async throws -> R {
    let reply = try await callUnary(method.path, allowsRetry: method.idempotency.allowsRetry, options) { writer in
      request.encode(to: &writer)
    }
    return try R(responseJSON: reply)
  }

  /// Makes a unary call in JSON and returns the response's JSON. Throws INVALID_ARGUMENT `MESSAGE_NOT_JSON` unless
  /// `paramsJSON` is an object, or empty for no parameters.
  public func rawUnary(
    method: String, paramsJSON: [UInt8], idempotency: Idempotency = .unknown, options: CallOptions = CallOptions()
  ) async throws(RPCError) -> [UInt8] {
    try RequestJSON.checkObject(paramsJSON)
    return try await callUnary(method, allowsRetry: idempotency.allowsRetry, options) { writer in
      paramsJSON.withUnsafeBytes { writer.append(raw: $0) }
    }
  }

  @inline(__always)
  private func callUnary(
    _ method: String, allowsRetry: Bool, _ options: CallOptions, encode: (inout JSONWriter) -> Void
  ) async throws(RPCError) -> [UInt8] {
    let beganAt = now
    let deadline = deadline(options, kind: .unary, now: beganAt)
    let head = CallHead(
      method: method, kind: .unary, deadline: deadline, metadata: CallScope.outgoing(options.metadata),
      waitForReady: options.waitForReady)
    var attempt = 1
    var mayHaveRun = false
    while true {
      let (owner, isOnLoop) = target()
      let call = UnaryCall(
        owner: owner, attempt: attempt, attemptsMax: options.attemptsMax, allowsRetry: allowsRetry,
        deadline: deadline)
      let outcome = await withTaskCancellationHandler {
        await withUnsafeContinuation { continuation in
          guard !isOnLoop else {
            owner.writer.removeAll(keepingCapacity: true)
            encode(&owner.writer)
            // The call began in this tick: the first attempt does not read the clock again.
            let now = attempt == 1 ? beganAt : owner.loop.now
            owner.writer.withUnsafeBytes { call.start(head, params: $0, now: now, continuation) }
            return
          }
          var writer = JSONWriter()
          encode(&writer)
          let params = writer.withUnsafeBytes { [UInt8]($0) }
          owner.loop.execute {
            params.withUnsafeBytes { call.start(head, params: $0, now: owner.loop.now, continuation) }
          }
        }
      } onCancel: {
        call.cancel()
      }
      switch outcome {
      case .reply(let bytes): return bytes
      case .failed(var error):
        // An earlier attempt may have run even if the last one was not seen.
        error.processed = error.processed || mayHaveRun
        throw error
      case .retry(let delayMs, let ranMaybe):
        attempt += 1
        mayHaveRun = mayHaveRun || ranMaybe
        if delayMs > 0 { await owner.pause(forMs: delayMs) }
        if Task.isCancelled { throw LocalFailure.cancelled(processed: mayHaveRun) }
      }
    }
  }
}

/// Requests that callers pass as JSON.
enum RequestJSON {
  /// Checks JSON from outside, so that it cannot break out of its place in a frame.
  static func checkObject(_ bytes: [UInt8]) throws(RPCError) {
    guard !bytes.isEmpty else { return }
    let fault = bytes.withUnsafeBytes { bytes -> String? in
      var scanner = WireJSONScanner(bytes)
      guard scanner.peek() == UInt8(ascii: "{") else { return "it must be an object" }
      do throws(WireJSONScanner.Fault) {
        try scanner.skipValue(depthMax: EnvelopeScanner.depthMax - 2)
      } catch {
        return "expected \(error.expected) at byte \(error.byteOffset)"
      }
      _ = scanner.peek()
      return scanner.index < scanner.end ? "text follows the object at byte \(scanner.index)" : nil
    }
    guard let fault else { return }
    throw RPCError(
      .invalidArgument, "the message is not a valid JSON object: \(fault)", reason: "MESSAGE_NOT_JSON",
      processed: false)
  }
}
