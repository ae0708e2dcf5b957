internal import NIOCore
internal import NIOSSL

/// One place of a loop's pool: makes a connection when one is wanted, and another after it is lost, with backoff.
final class ClientLink {
  private enum Phase {
    case idle
    /// `nil` until the socket is connected.
    case connecting(ClientConnection?)
    case ready(ClientConnection)
    case waiting(Scheduled<Void>)
    case closed
  }

  private let owner: LoopClient
  private let settings: ClientSettings
  private var phase = Phase.idle
  private var backoff: Backoff
  private var addressIndex: Int
  /// Addresses that failed since the last wait.
  private var triedCount = 0
  private var attemptID = 0
  private var readySince: NIODeadline
  private var timeout: Scheduled<Void>?
  /// Why the last attempt failed.
  private(set) var lastFailure: RPCError?

  init(owner: LoopClient, index: Int) {
    self.owner = owner
    settings = owner.settings
    readySince = owner.loop.now
    backoff = Backoff(settings.configuration.backoff)
    addressIndex = index % settings.configuration.addresses.count
  }

  @inline(__always) var connection: ClientConnection? {
    if case .ready(let connection) = phase { connection } else { nil }
  }
  /// Whether waiting a little may bring a connection.
  var isPromising: Bool {
    switch phase {
    case .ready, .connecting: true
    case .idle, .waiting, .closed: false
    }
  }

  /// A connection is wanted.
  func demand() { if case .idle = phase { attempt() } }

  func close() {
    let former = phase
    phase = .closed
    timeout?.cancel()
    switch former {
    case .connecting(let connection): connection?.close(LocalFailure.closed(processed: true))
    case .ready(let connection): connection.close(LocalFailure.closed(processed: true))
    case .waiting(let timer): timer.cancel()
    case .idle, .closed: break
    }
  }

  // MARK: - connecting

  private var address: ClientConfiguration.Address { settings.configuration.addresses[addressIndex] }

  private func attempt() {
    phase = .connecting(nil)
    attemptID += 1
    let attempt = attemptID
    let limit = TimeAmount.milliseconds(settings.configuration.connectTimeoutMs)
    let end = owner.loop.now + limit
    settings.environment.dial(address, owner.loop, limit)
      .assumeIsolated()
      .whenComplete { result in
        switch result {
        case .success(let channel): self.connected(channel, attempt: attempt, end: end)
        case .failure(let error):
          guard attempt == self.attemptID, case .connecting = self.phase else { return }
          self.failed(self.connectFailed("\(error)"))
        }
      }
  }

  /// The socket is connected: from now on the channel tells the connection's end.
  private func connected(_ channel: any Channel, attempt: Int, end: NIODeadline) {
    guard attempt == attemptID, case .connecting = phase else { return channel.close(promise: nil) }
    let connection = ClientConnection(link: self, owner: owner)
    phase = .connecting(connection)
    timeout = owner.loop.assumeIsolated().scheduleTask(deadline: end) {
      connection.close(self.connectFailed("rpc.hello was not answered in time"))
    }
    do {
      if let sslContext = settings.sslContext {
        let name = settings.configuration.tls?.serverName(for: address.host)
        try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: sslContext, serverHostname: name))
      }
      try channel.pipeline.syncOperations.addHandler(connection)
    } catch {
      channel.close(promise: nil)
      failed(connectFailed("\(error)"))
    }
  }

  private func connectFailed(_ why: String) -> RPCError {
    RPCError(
      .unavailable, "cannot connect to \(address): \(why)", reason: LocalFailure.connectFailed, processed: false)
  }

  private func failed(_ cause: RPCError) {
    timeout?.cancel()
    lastFailure = cause
    addressIndex = (addressIndex + 1) % settings.configuration.addresses.count
    triedCount += 1
    if triedCount < settings.configuration.addresses.count { return attempt() }
    waitBeforeNext()
    owner.connectFailed(cause)
  }

  private func waitBeforeNext() {
    triedCount = 0
    let delayMs = backoff.failed(random: settings.environment.random())
    let timer = owner.loop.assumeIsolated().scheduleTask(in: .milliseconds(delayMs)) {
      guard case .waiting = self.phase else { return }
      self.phase = .idle
      if self.owner.wantsConnection { self.attempt() }
    }
    phase = .waiting(timer)
  }

  // MARK: - what the connection tells

  /// The server has answered `rpc.hello`.
  func connected(_ connection: ClientConnection) {
    guard case .connecting(let current) = phase, current === connection else { return }
    timeout?.cancel()
    timeout = nil
    triedCount = 0
    lastFailure = nil
    readySince = owner.loop.now
    phase = .ready(connection)
    owner.connected()
  }

  /// The connection takes no new calls; it lives on until its calls end.
  func draining(_ connection: ClientConnection) {
    guard self.connection === connection else { return }
    owner.draining(connection)
    leaveReady()
    demand()
  }

  func lost(_ connection: ClientConnection, _ cause: RPCError) {
    switch phase {
    case .connecting(let current) where current === connection:
      var failure = cause
      if cause.reason != LocalFailure.connectFailed, !LocalFailure.isRefusal(cause) {
        failure = connectFailed(cause.message)
      }
      failure.processed = false
      failed(failure)
    case .ready(let current) where current === connection:
      lastFailure = cause
      leaveReady()
      if owner.wantsConnection { demand() }
    default: break
    }
  }

  /// A connection that held is replaced at once; one that went at once counts as a failed attempt, so that a server that
  /// accepts and closes is not stormed.
  private func leaveReady() {
    let lived = owner.loop.now - readySince
    guard lived < .milliseconds(settings.configuration.backoff.initialMs) else {
      backoff.reset()
      phase = .idle
      return
    }
    if backoff.failures == 0 {
      // The first loss is forgiven: it may be the old server going while a new one comes.
      _ = backoff.failed(random: 0)
      phase = .idle
      return
    }
    waitBeforeNext()
  }
}
