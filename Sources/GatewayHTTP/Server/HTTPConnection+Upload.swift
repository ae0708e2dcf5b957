import CampanileBase
import CampanileHTTP
import CampanileRPC
import NIOCore
import NIOHTTP1

// Asset contents uploaded as a request body. The body is read only once the service has agreed to accept it, and only
// as fast as the service accepts it.
extension HTTPConnection {
  func start(_ plan: UploadPlan) {
    guard let exchange, let calls = innerCalls(), !state.isQuiescing else { return refuseAndClose(Self.goingAway) }
    let body = UploadBody(account(exchange))
    exchange.upload = body
    read(false)
    // The calls have their own deadlines. The body's timeout starts when it is requested.
    state.timing.enter(.answering, now: .now())
    let number = state.number
    let bound = NIOLoopBound(self, eventLoop: loop)
    let upload = ContentUpload(plan: plan, calls: calls, body: NIOLoopBound(body, eventLoop: loop)) {
      bound.value.readUpload(number)
    }
    // Not cancelled when the caller disconnects, because the upload must then be cancelled in the service.
    Task { [loop] in
      let result: Result<UploadAnswer, RPCError>
      do throws(RPCError) { result = .success(try await upload.run()) } catch { result = .failure(error) }
      loop.execute { bound.value.finishUpload(number, result) }
    }
  }

  /// Starts to read the body, which the service has agreed to accept.
  private func readUpload(_ number: Int) {
    guard state.number == number, let exchange, let upload = exchange.upload else { return }
    state.timing.enter(.body, now: .now())
    upload.onProgress = { [weak self] in self?.uploadProgressed(number) }
    upload.onSent = { [weak self] in self?.uploadSent(number) }
    if exchange.head.headers.first(name: "expect")?.lowercased() == "100-continue", !state.isRead {
      channelContext?.triggerUserOutboundEvent(HTTPBypass.Event.goOn, promise: nil)
    }
    read(upload.takesMore)
  }

  private func uploadProgressed(_ number: Int) {
    guard state.number == number, let upload = exchange?.upload else { return }
    state.timing.progressed(now: .now())
    read(upload.takesMore)
  }

  /// Starts the timeout for the service, which has received the whole content and must now store it.
  private func uploadSent(_ number: Int) {
    guard state.number == number, let upload = exchange?.upload else { return }
    state.timing.enter(.answering, now: .now())
    loop.assumeIsolated().scheduleTask(in: .milliseconds(configuration.uploadFinishTimeoutMs)) { [weak upload] in
      upload?.fail(Self.unfinished)
    }
  }
  private static let unfinished = RPCError(
    .deadlineExceeded, "the service did not finish the upload in time", reason: "DEADLINE_EXCEEDED")

  func take(_ bytes: ByteBuffer, into upload: UploadBody) {
    do throws(RPCError) { try upload.take(bytes) } catch { return refuseAndClose(error) }
    if !upload.takesMore { read(false) }
  }

  private func finishUpload(_ number: Int, _ result: Result<UploadAnswer, RPCError>) {
    guard state.number == number, exchange?.upload != nil else { return }
    switch result {
    case .success(let found): answer(found.status, found.headers, found.body)
    case .failure(let error): fail(error)
    }
  }

  /// Enables or disables reading from the caller. Unread data stays in the socket buffer.
  func read(_ isOn: Bool) {
    guard isOn != isReading, let channel = channelContext?.channel else { return }
    isReading = isOn
    // A channel that is closed already has nothing to read.
    try? channel.syncOptions?.setOption(.autoRead, value: isOn)
    if isOn { gate?.resume() }
  }
}
