import CampanileBase
internal import NIOCore

#if TLS
  internal import NIOSSL
#endif

/// One slot of an event loop's connection pool: connects on demand and reconnects with backoff after a loss.
final class ConnectionSlot {
  private enum Phase {
    case idle
    /// `nil` until the socket is connected.
    case connecting(ClientConnection?)
    case ready(ClientConnection)
    case waiting(Scheduled<Void>)
    case closed
  }

  private let owner: LoopClient
  private let resources: ClientResources
  /// The addresses to try in turn.
  let endpoints: [ServerEndpoint]
  private var phase = Phase.idle
  private var failures: FailedAttempts
  private var addressIndex: Int
  /// Addresses that have failed since the last backoff.
  private var triedCount = 0
  private var attemptID = 0
  private var readySince: NIODeadline
  private var timeout: Scheduled<Void>?
  /// The failure of the last attempt.
  private(set) var lastFailure: RPCError?

  init(owner: LoopClient, endpoints: [ServerEndpoint], index: Int) {
    self.owner = owner
    self.endpoints = endpoints
    resources = owner.resources
    readySince = owner.loop.now
    failures = FailedAttempts(resources.configuration.backoff)
    addressIndex = index % endpoints.count
  }

  @inline(__always) var connection: ClientConnection? {
    if case .ready(let connection) = phase { connection } else { nil }
  }
  /// Whether no call has needed a connection.
  var isIdle: Bool { if case .idle = phase { true } else { false } }
  /// Whether a connection is ready or being made.
  var mayConnectSoon: Bool {
    switch phase {
    case .ready, .connecting: true
    case .idle, .waiting, .closed: false
    }
  }

  /// Connects unless a connection or an attempt exists.
  func connectIfIdle() { if case .idle = phase { attempt() } }

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

  /// Ends the slot. Open calls finish, and the connection closes after the last one.
  func retire() {
    guard case .ready(let connection) = phase else { return close() }
    phase = .closed
    owner.draining(connection)
    connection.retire()
  }

  // MARK: - connecting

  private var endpoint: ServerEndpoint { endpoints[addressIndex] }
  /// Whether the slot connects again without a call that waits for it.
  private var connectsAgain: Bool { resources.configuration.balancing == .everyAddress || owner.wantsConnection }

  private func attempt() {
    phase = .connecting(nil)
    attemptID += 1
    let attempt = attemptID
    let limit = TimeAmount.milliseconds(resources.configuration.connectTimeout.wholeMilliseconds)
    let end = owner.loop.now + limit
    resources.environment.dial(endpoint.address, owner.loop, limit)
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

  /// The socket is connected. From here on, the channel's handler reports the end of the connection.
  private func connected(_ channel: any Channel, attempt: Int, end: NIODeadline) {
    guard attempt == attemptID, case .connecting = phase else { return channel.close(promise: nil) }
    let connection = ClientConnection(slot: self, owner: owner)
    phase = .connecting(connection)
    timeout = owner.loop.assumeIsolated().scheduleTask(deadline: end) {
      connection.close(self.connectFailed("no response to rpc.hello within the time limit"))
    }
    do {
      #if TLS
        if let sslContext = resources.sslContext {
          let name = resources.configuration.tls?.serverName(for: endpoint.host)
          try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: sslContext, serverHostname: name))
        }
      #endif
      try channel.pipeline.syncOperations.addHandler(connection)
    } catch {
      channel.close(promise: nil)
      failed(connectFailed("\(error)"))
    }
  }

  private func connectFailed(_ why: String) -> RPCError {
    RPCError(
      .unavailable, "cannot connect to \(endpoint.address): \(why)", reason: LocalFailure.connectFailed,
      processed: false)
  }

  private func failed(_ cause: RPCError) {
    timeout?.cancel()
    lastFailure = cause
    addressIndex = (addressIndex + 1) % endpoints.count
    triedCount += 1
    if triedCount < endpoints.count { return attempt() }
    waitBeforeNext()
    owner.connectFailed(cause)
  }

  private func waitBeforeNext() {
    triedCount = 0
    let delayMs = failures.failed(random: resources.environment.random())
    let timer = owner.loop.assumeIsolated().scheduleTask(in: .milliseconds(delayMs)) {
      guard case .waiting = self.phase else { return }
      self.phase = .idle
      if self.connectsAgain { self.attempt() }
    }
    phase = .waiting(timer)
  }

  // MARK: - events from the connection

  /// The connection is ready: the server has responded to `rpc.hello`.
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

  /// The connection accepts no new calls; it stays open until its calls have ended.
  func draining(_ connection: ClientConnection) {
    guard self.connection === connection else { return }
    owner.draining(connection)
    leaveReady()
    connectIfIdle()
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
      if connectsAgain { connectIfIdle() }
    default: break
    }
  }

  /// Leaves the ready phase. After a long-lived connection, the next attempt may start at once. A short-lived one
  /// counts as a failed attempt, so that a server which accepts and closes is not flooded.
  private func leaveReady() {
    let lived = owner.loop.now - readySince
    guard lived < .milliseconds(resources.configuration.backoff.initialDelay.wholeMilliseconds) else {
      failures.reset()
      phase = .idle
      return
    }
    if failures.count == 0 {
      // The first early loss is not delayed: it may be the old server shutting down while a new one starts.
      _ = failures.failed(random: 0)
      phase = .idle
      return
    }
    waitBeforeNext()
  }
}
