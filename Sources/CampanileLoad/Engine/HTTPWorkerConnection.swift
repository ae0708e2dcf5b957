import CampanileBase
internal import CampanileRPC
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// The HTTP/1.1 connection of a worker, with at most one request at a time.
///
/// It is opened for the first request and again after a loss.
final class HTTPWorkerConnection {
  private let worker: LoadWorker
  private let target: HTTPTarget
  private let sslContext: NIOSSLContext?
  private let loop: any EventLoop
  private var exchange: HTTPWorkerExchange?
  /// Number of connections so far. Events of earlier connections are ignored.
  private var generation = 0
  private var isBusy = false
  /// Deadline of the current request; while idle, of the last one.
  private var deadline = NIODeadline.uptimeNanoseconds(0)
  private var timeoutMs: Int64 = 0
  private var isTimed = false
  private let head: HTTPRequestText
  /// The encoded request. The buffer is reused.
  private var request = ByteBuffer()

  init(
    _ worker: LoadWorker, head: HTTPRequestText, target: HTTPTarget, sslContext: NIOSSLContext?, loop: any EventLoop
  ) {
    self.worker = worker
    self.head = head
    self.target = target
    self.sslContext = sslContext
    self.loop = loop
  }

  func send(body: [UInt8], timeoutMs: Int64) {
    head.write(body: body, to: &request)
    isBusy = true
    self.timeoutMs = timeoutMs
    deadline = .now() + .milliseconds(timeoutMs)
    watchDeadline()
    if let exchange { exchange.send(request) } else { connect() }
  }

  /// Schedules the timer of the connection, unless it is running.
  ///
  /// Most responses arrive long before the deadline. A timer per request would cost more than the rest of it.
  private func watchDeadline() {
    guard !isTimed else { return }
    isTimed = true
    loop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
      isTimed = false
      guard isBusy else { return }
      guard deadline <= .now() else { return watchDeadline() }
      drop()
      end(CallEnd(status: RPCError.Code.deadlineExceeded.rawValue, message: "no response within \(timeoutMs) ms"))
    }
  }

  private func connect() {
    generation += 1
    let generation = generation
    let made = HTTPWorkerExchange(owner: self, generation: generation, head: head.head)
    let exchange = NIOLoopBound(made, eventLoop: loop)
    let bound = NIOLoopBound(self, eventLoop: loop)
    ClientBootstrap(group: loop)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelInitializer { [sslContext, name = target.tls?.serverName(for: target.host)] channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let sslContext {
            try pipeline.addHandler(NIOSSLClientHandler(context: sslContext, serverHostname: name))
          }
          try pipeline.addHandler(HTTPRequestWriter(exchange.value))
          try pipeline.addHandler(ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes)))
          try pipeline.addHandler(exchange.value)
        }
      }
      .connect(host: target.host, port: target.port)
      .whenComplete { result in bound.value.connected(result.map { _ in exchange.value }, generation) }
  }

  private func connected(_ result: Result<HTTPWorkerExchange, any Error>, _ generation: Int) {
    switch result {
    case .success(let opened) where generation == self.generation && isBusy:
      exchange = opened
      opened.send(request)
    case .success(let unwanted): unwanted.close()
    case .failure(let error): lost("cannot connect: \(error)", generation)
    }
  }

  func answered(_ status: Int, _ body: [UInt8], keepsAlive: Bool, _ generation: Int) {
    guard generation == self.generation else { return }
    if !keepsAlive { drop() }
    let result = ConnectStatus.end(status: status, body: body)
    body.withUnsafeBytes { end(result, reply: $0) }
  }

  func lost(_ why: String, _ generation: Int) {
    guard generation == self.generation else { return }
    drop()
    end(CallEnd(status: RPCError.Code.unavailable.rawValue, message: why, isLocal: true))
  }

  private func end(_ result: CallEnd, reply: UnsafeRawBufferPointer? = nil) {
    guard isBusy else { return }
    isBusy = false
    worker.finished(result, reply: result.status == 0 ? reply : nil)
  }

  private func drop() {
    generation += 1
    exchange?.close()
    exchange = nil
  }

  /// Closes the connection without notifying the worker.
  func close() {
    isBusy = false
    drop()
  }
}
