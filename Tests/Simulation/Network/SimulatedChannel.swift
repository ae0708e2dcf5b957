import NIOCore

/// One end of a simulated connection. Writes are passed to `onSend`; the network delivers the writes of the other end.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class SimulatedChannel: Channel, ChannelCore, @unchecked Sendable {
  let allocator = ByteBufferAllocator()
  let eventLoop: any EventLoop
  let remoteAddress: SocketAddress?
  let localAddress: SocketAddress? = nil
  let parent: (any Channel)? = nil
  let isWritable = true
  private(set) var isActive = false
  private var hasEnded = false
  private let isAutoRead: Bool
  private var wantsRead = false
  private var arrived = ByteBuffer()
  private var isPeerGone = false
  private var unsent: [(ByteBuffer, EventLoopPromise<Void>?)] = []
  private var pipelineStore: ChannelPipeline?
  private let closePromise: EventLoopPromise<Void>
  var onSend: (ByteBuffer) -> Void = { _ in }
  var onClose: () -> Void = {}

  init(_ loop: SimulatedLoop, remoteAddress: SocketAddress?, isAutoRead: Bool) {
    eventLoop = loop
    self.remoteAddress = remoteAddress
    self.isAutoRead = isAutoRead
    closePromise = loop.makePromise()
    pipelineStore = ChannelPipeline(channel: self)
  }

  var closeFuture: EventLoopFuture<Void> { closePromise.futureResult }
  var pipeline: ChannelPipeline {
    if let pipelineStore { return pipelineStore }
    let made = ChannelPipeline(channel: self)
    pipelineStore = made
    return made
  }
  var _channelCore: any ChannelCore { self }

  /// Marks the connection as established.
  func activate(tells: Bool) {
    guard !hasEnded else { return }
    isActive = true
    if tells { pipeline.fireChannelActive() }
  }

  // MARK: from the network

  func receive(_ bytes: ByteBuffer) {
    guard !hasEnded else { return }
    arrived.writeImmutableBuffer(bytes)
    hand()
  }

  /// Records that the other end has closed. Bytes that arrived before are read first.
  func peerClosed() {
    isPeerGone = true
    hand()
  }

  private func hand() {
    guard !hasEnded, isActive else { return }
    if arrived.readableBytes > 0, isAutoRead || wantsRead {
      wantsRead = false
      let bytes = arrived
      arrived = ByteBuffer()
      pipeline.syncOperations.fireChannelRead(NIOAny(bytes))
      pipeline.syncOperations.fireChannelReadComplete()
    }
    if isPeerGone, arrived.readableBytes == 0 { end() }
  }

  /// Closes this end without informing the other one.
  func end() {
    guard !hasEnded else { return }
    hasEnded = true
    isActive = false
    for (_, promise) in unsent { promise?.fail(ChannelError.ioOnClosedChannel) }
    unsent = []
    eventLoop.execute {
      self.pipeline.fireChannelInactive()
      self.pipeline.fireChannelUnregistered()
      self.eventLoop.execute {
        self.removeHandlers(pipeline: self.pipeline)
        self.closePromise.succeed()
        // The pipeline and the channel reference each other: this breaks the cycle.
        self.pipelineStore = nil
        self.onSend = { _ in }
        self.onClose = {}
      }
    }
  }

  // MARK: from the pipeline

  func write0(_ data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard !hasEnded else {
      promise?.fail(ChannelError.ioOnClosedChannel)
      return
    }
    unsent.append((unwrapData(data, as: ByteBuffer.self), promise))
  }

  func flush0() {
    let sending = unsent
    unsent = []
    for (bytes, promise) in sending {
      onSend(bytes)
      // A socket completes a write in a later turn of the loop.
      if let promise { eventLoop.execute { promise.succeed() } }
    }
  }

  func read0() {
    wantsRead = true
    // Not within the handler that requests the read.
    if arrived.readableBytes > 0 || isPeerGone { eventLoop.execute { self.hand() } }
  }

  func close0(error: any Error, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard !hasEnded else {
      promise?.fail(ChannelError.alreadyClosed)
      return
    }
    onClose()
    end()
    promise?.succeed()
  }

  func localAddress0() throws -> SocketAddress { throw ChannelError.unknownLocalAddress }
  func remoteAddress0() throws -> SocketAddress {
    guard let remoteAddress else { throw ChannelError.unknownLocalAddress }
    return remoteAddress
  }
  func register0(promise: EventLoopPromise<Void>?) { promise?.succeed() }
  func registerAlreadyConfigured0(promise: EventLoopPromise<Void>?) { promise?.succeed() }
  func bind0(to: SocketAddress, promise: EventLoopPromise<Void>?) { promise?.fail(ChannelError.operationUnsupported) }
  func connect0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
    promise?.fail(ChannelError.operationUnsupported)
  }
  func triggerUserOutboundEvent0(_ event: Any, promise: EventLoopPromise<Void>?) {
    promise?.fail(ChannelError.operationUnsupported)
  }
  func channelRead0(_ data: NIOAny) {}
  func errorCaught0(error: any Error) {}
  func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> {
    eventLoop.makeSucceededVoidFuture()
  }
  func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> {
    eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
  }
}
