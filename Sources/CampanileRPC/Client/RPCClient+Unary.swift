public import CampanileCodec
internal import NIOCore

extension RPCClient {
  /// One request, one response. Fails with INTERNAL `REPLY_INVALID` when the response is not an `R`.
  public func unary<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions = CallOptions()
  ) async throws -> R {
    let reply = try await callUnary(method.path, allowsRepeat: method.idempotency.allowsRepeat, options) { writer in
      request.encode(to: &writer)
    }
    return try Reply.decode(reply)
  }

  /// The same with JSON as it stands. `paramsJSON` is an object, or empty for none; INVALID_ARGUMENT otherwise.
  public func rawUnary(
    method: String, paramsJSON: [UInt8], idempotency: Idempotency = .unknown, options: CallOptions = CallOptions()
  ) async throws(RPCError) -> [UInt8] {
    try Reply.checkObject(paramsJSON)
    return try await callUnary(method, allowsRepeat: idempotency.allowsRepeat, options) { writer in
      paramsJSON.withUnsafeBytes { writer.append(raw: $0) }
    }
  }

  @inline(__always)
  private func callUnary(
    _ method: String, allowsRepeat: Bool, _ options: CallOptions, encode: (inout JSONWriter) -> Void
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
        owner: owner, attempt: attempt, attemptsMax: options.attemptsMax, allowsRepeat: allowsRepeat,
        deadline: deadline)
      let outcome = await withTaskCancellationHandler {
        await withUnsafeContinuation { continuation in
          guard !isOnLoop else {
            owner.writer.removeAll(keepingCapacity: true)
            encode(&owner.writer)
            // No time has passed since the call began: the clock is not asked again.
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
        // That nobody saw the last attempt says nothing of those before it.
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

/// Between JSON and messages.
enum Reply {
  /// A client ignores fields that it does not know.
  static let options: JSONDecodingOptions = {
    var options = JSONDecodingOptions()
    options.ignoreUnknownFields = true
    return options
  }()

  @inline(__always)
  static func decode<R: ProtoMessage>(_ bytes: [UInt8]) throws(RPCError) -> R {
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(ProtoJSONError) in try R(jsonUTF8: bytes, options: options) }
    }
    switch result {
    case .success(let message): return message
    case .failure(let error):
      throw RPCError(
        .internalError, "the response is no \(R.protoFullName): \(error.message)", reason: "REPLY_INVALID",
        errorMetadata: ["field": error.fieldPath, "byteOffset": String(error.byteOffset)])
    }
  }

  static func encode(_ message: some ProtoMessage) -> [UInt8] {
    var writer = JSONWriter()
    message.encode(to: &writer)
    return writer.withUnsafeBytes { [UInt8]($0) }
  }

  /// Checks JSON from outside, so that nothing in it breaks out of its place in a frame.
  static func checkObject(_ bytes: [UInt8]) throws(RPCError) {
    guard !bytes.isEmpty else { return }
    let fault = bytes.withUnsafeBytes { bytes -> String? in
      var scanner = JSONScanner(bytes)
      guard scanner.peek() == UInt8(ascii: "{") else { return "it must be an object" }
      do throws(JSONScanner.Fault) {
        try scanner.skipValue(depthMax: EnvelopeScanner.depthMax - 2)
      } catch {
        return "expected \(error.expected) at byte \(error.byteOffset)"
      }
      _ = scanner.peek()
      return scanner.index < scanner.end ? "text follows the object at byte \(scanner.index)" : nil
    }
    guard let fault else { return }
    throw RPCError(
      .invalidArgument, "the message is not JSON that can be sent: \(fault)", reason: "MESSAGE_NOT_JSON",
      processed: false)
  }
}
