import CampanileRPC
import NIOCore
import NIOHTTP1

// Contents that are brought as the body of a request. Nothing is read of one before the service has agreed to take it, and no more of
// it at a time than the service takes.
extension HTTPConnection {
  func start(_ plan: UploadPlan) {
    guard let dispatcher = face.dispatcher, !isQuiescing else { return refuseAndClose(Self.goingAway) }
    let body = UploadBody(connections)
    exchange?.upload = body
    read(false)
    // The calls have time limits of their own; the body's begins when it is asked for.
    timing.enter(.answering, now: .now())
    let calls = InnerCalls(dispatcher: dispatcher, loops: face.loops, loop: loop, remoteAddress: remoteAddress)
    let number = exchangeNumber
    let bound = NIOLoopBound(self, eventLoop: loop)
    let upload = ContentUpload(plan: plan, calls: calls, body: NIOLoopBound(body, eventLoop: loop)) {
      bound.value.readUpload(number)
    }
    // Not cancelled when the caller goes away: what it has begun in the service is taken back.
    Task { [loop] in
      let result: Result<UploadAnswer, RPCError>
      do throws(RPCError) { result = .success(try await upload.run()) } catch { result = .failure(error) }
      loop.execute { bound.value.finishUpload(number, result) }
    }
  }

  /// The service takes the content.
  private func readUpload(_ number: Int) {
    guard exchangeNumber == number, let exchange, let upload = exchange.upload else { return }
    timing.enter(.body, now: .now())
    upload.onProgress = { [weak self] in self?.uploadProgressed(number) }
    upload.onSent = { [weak self] in self?.uploadSent(number) }
    if exchange.head.headers.first(name: "expect")?.lowercased() == "100-continue", !exchange.isRead {
      channelContext?.triggerUserOutboundEvent(HTTPBypass.Event.goOn, promise: nil)
    }
    read(upload.takesMore)
  }

  private func uploadProgressed(_ number: Int) {
    guard exchangeNumber == number, let upload = exchange?.upload else { return }
    timing.progressed(now: .now())
    read(upload.takesMore)
  }

  /// From here on the service's time counts: it has the content to write out.
  private func uploadSent(_ number: Int) {
    guard exchangeNumber == number, let upload = exchange?.upload else { return }
    timing.enter(.answering, now: .now())
    loop.assumeIsolated().scheduleTask(in: .milliseconds(configuration.uploadFinishTimeoutMs)) { [weak upload] in
      upload?.fail(Self.unfinished)
    }
  }
  private static let unfinished = RPCError(
    .deadlineExceeded, "the service has not finished the upload in time", reason: "DEADLINE_EXCEEDED")

  func take(_ bytes: ByteBuffer, into upload: UploadBody) {
    guard connections.readingBytes + bytes.readableBytes <= configuration.readingBytesMax else {
      return refuseAndClose(Self.overloaded)
    }
    upload.take(bytes)
    if !upload.takesMore { read(false) }
  }

  private func finishUpload(_ number: Int, _ result: Result<UploadAnswer, RPCError>) {
    guard exchangeNumber == number, exchange?.upload != nil else { return }
    switch result {
    case .success(let found): answer(found.status, found.headers, found.body)
    case .failure(let error): fail(error)
    }
  }

  /// Whether bytes are taken from the caller; what it sends meanwhile waits in the system.
  func read(_ isOn: Bool) {
    guard isOn != isReading, let channel = channelContext?.channel else { return }
    isReading = isOn
    // A channel that is closed already has nothing to read.
    try? channel.syncOptions?.setOption(.autoRead, value: isOn)
    if isOn { gate?.resume() }
  }
}
