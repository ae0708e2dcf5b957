import APNs
import CampanileBase
import CampanileService
import DequeModule
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization

/// The connections of one route, which share host, team and key.
///
/// `submit` and `capacity` may be called from any thread; the rest runs on the pool's event loop.
final class APNsPool: @unchecked Sendable {
  // `@unchecked`: every variable below is used on `loop` only; `published` has its own lock.

  struct Limits: Sendable, Hashable {
    var connection = APNsConnection.Limits()
    var breaker = BreakerPolicy(
      failuresMax: 5, probesMax: 4,
      pause: Backoff(initialDelay: .milliseconds(500), multiplier: 2, delayMax: .seconds(30)))
    /// Together with the streams per connection, enough for 20,000 pushes a second at round trips of 50 ms.
    var connectionsMax = 8
    /// Requests accepted before a connection has received SETTINGS.
    var requestsBeforeConnection = 100
    /// Requests accepted in addition to those on the streams, as a factor, so that no connection idles while more are
    /// fetched.
    var waitingFactor = 1
    var connectTimeoutMs: Int64 = 5_000
    var handOversMax = 3
    var tickMs: Int64 = 200

    init() {}
  }

  let route: PushRoute
  private let limits: Limits
  private let tls: NIOSSLContext
  private let loop: any EventLoop
  private let environment: SenderEnvironment
  private let results: ResultBox
  private let published: Mutex<PushCapacity>

  private var connections: [APNsConnection] = []
  private var connectingCount = 0
  private var waiting: Deque<PushRequest> = []
  private var breaker: CircuitBreaker
  private var ticker: RepeatedTask?
  private var isShutDown = false
  /// Results of this turn, delivered after the capacity is published because the receiver reads it.
  private var finished: [PushResult] = []

  init(
    route: PushRoute, limits: Limits, tls: NIOSSLContext, loop: any EventLoop, environment: SenderEnvironment,
    results: ResultBox
  ) {
    self.route = route
    self.limits = limits
    self.tls = tls
    self.loop = loop
    self.environment = environment
    self.results = results
    breaker = CircuitBreaker(limits.breaker)
    published = Mutex(PushCapacity(free: limits.requestsBeforeConnection))
  }

  var capacity: PushCapacity { published.withLock { $0 } }

  /// Accepts requests; each produces one result.
  func submit(_ requests: [PushRequest]) {
    published.withLock { $0.free = max(0, $0.free - requests.count) }
    loop.execute {
      self.startTicker()
      self.waiting.append(contentsOf: requests)
      self.advance()
    }
  }

  /// Closes the connections. Open requests end as lost.
  func shutDown() {
    loop.execute {
      self.isShutDown = true
      self.ticker?.cancel()
      for connection in self.connections { connection.close("the service is stopping") }
      self.advance()
    }
  }

  private func startTicker() {
    guard ticker == nil, !isShutDown else { return }
    let interval = TimeAmount.milliseconds(limits.tickMs)
    ticker = loop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in self.tick() }
  }

  private func tick() {
    for connection in connections { connection.tick() }
    advance()
  }

  private var openCount: Int { connections.reduce(0) { $0 + $1.openCount } }

  /// Sends waiting requests, connects if more connections are needed, and publishes the free capacity.
  private func advance() {
    defer { tell() }
    guard !isShutDown else { return returnWaiting("the service is stopping") }
    let allowance = breaker.allowance(nowMs: environment.nowMs())
    if allowance == 0 { returnWaiting("the route is down") }
    send(allowance: allowance)
    let wanted = waiting.count
    if wanted > 0, connectingCount == 0, connections.count < limits.connectionsMax, allowance != 0,
      !connections.contains(where: { $0.freeCount > 0 || $0.isStarting })
    {
      connect()
    }
    publish(allowance: allowance)
  }

  private func send(allowance: Int?) {
    var room = allowance.map { max(0, $0 - openCount) } ?? Int.max
    for connection in connections where !waiting.isEmpty && room > 0 {
      let count = min(connection.freeCount, waiting.count, room)
      guard count > 0 else { continue }
      let batch = Array(waiting.prefix(count))
      waiting.removeFirst(count)
      let rest = connection.send(batch[...])
      waiting.prepend(contentsOf: rest)
      room -= count - rest.count
    }
  }

  private func publish(allowance: Int?) {
    let streams = connections.reduce(0) { $0 + $1.streamsMax }
    let limit = min(
      allowance ?? .max, max(limits.requestsBeforeConnection, streams * (1 + max(0, limits.waitingFactor))))
    let capacity = PushCapacity(free: max(0, limit - openCount - waiting.count), retryAtMs: breaker.retryAtMs)
    let hadNone = published.withLock { published in
      defer { published = capacity }
      return published.free == 0
    }
    if hadNone, capacity.free > 0 { results.signal.notify() }
  }

  private func tell() {
    guard !finished.isEmpty else { return }
    results.append(finished)
    finished.removeAll(keepingCapacity: true)
  }

  private func returnWaiting(_ why: String) {
    guard !waiting.isEmpty else { return }
    finished += waiting.map { PushResult(ticket: $0.ticket, outcome: .unprocessed(why)) }
    waiting.removeAll(keepingCapacity: true)
  }

  private func connect() {
    connectingCount += 1
    let authority = route.host.port == 443 ? route.host.name : "\(route.host.name):\(route.host.port)"
    let (tls, name) = (tls, route.host.name)
    ClientBootstrap(group: loop)
      .connectTimeout(.milliseconds(limits.connectTimeoutMs))
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelInitializer { channel in
        // The initializer runs for each address that is tried concurrently (RFC 8305).
        channel.eventLoop.makeCompletedFuture {
          // SNI allows host names only, not addresses (RFC 6066 section 3).
          let isAddress = (try? SocketAddress(ipAddress: name, port: 0)) != nil
          let sync = channel.pipeline.syncOperations
          try sync.addHandler(NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : name))
          try sync.addHandler(Self.http2Handler())
          try sync.addHandler(
            APNsConnection(
              authority: authority, limits: self.limits.connection, nowMs: self.environment.nowMs, owner: self))
        }
      }
      .connect(host: name, port: route.host.port)
      .hop(to: loop)
      .whenComplete { result in
        self.connectingCount -= 1
        switch result {
        case .success(let channel):
          if self.isShutDown { return channel.close(promise: nil) }
          let found = try? channel.pipeline.syncOperations.handler(type: APNsConnection.self)
          if let found, channel.isActive {
            self.connections.append(found)
          } else {
            self.connectFailed("the peer closed the connection immediately")
          }
        case .failure(let error):
          self.connectFailed(String(describing: error))
        }
        self.advance()
      }
  }

  private static func http2Handler() -> NIOHTTP2Handler {
    var connection = NIOHTTP2Handler.ConnectionConfiguration()
    connection.initialSettings = [
      HTTP2Setting(parameter: .enablePush, value: 0),
      HTTP2Setting(parameter: .maxConcurrentStreams, value: 0),
      HTTP2Setting(parameter: .maxHeaderListSize, value: 16_384),
      HTTP2Setting(parameter: .initialWindowSize, value: 65_535),
    ]
    // Only the status and two fields of a response are used, and they are validated where they are read.
    connection.headerBlockValidation = .disabled
    connection.contentLengthValidation = .disabled
    var stream = NIOHTTP2Handler.StreamConfiguration()
    // The breaker handles a peer that refuses or resets many streams; it is not an attack.
    stream.streamResetFrameRateLimit.maximumCount = 1_000_000
    stream.streamErrorRateLimit.maximumCount = 10_000
    return NIOHTTP2Handler(mode: .client, connectionConfiguration: connection, streamConfiguration: stream)
  }

  private func connectFailed(_ why: String) {
    breaker.broken(nowMs: environment.nowMs(), random: environment.random())
    environment.log("no connection to \(route.host.name):\(route.host.port): \(why.prefix(200))")
    if !connections.contains(where: \.isUsable) { returnWaiting("no connection: \(why.prefix(100))") }
  }

  private func judge(_ outcome: PushOutcome) {
    switch outcome {
    case .answered(let answer) where answer.status >= 500 || RetryRules.blamesKey(answer):
      breaker.failed(nowMs: environment.nowMs(), random: environment.random())
    case .answered: breaker.succeeded()
    case .lost: breaker.failed(nowMs: environment.nowMs(), random: environment.random())
    case .unprocessed: break
    }
  }
}

extension APNsPool: APNsConnectionOwner {
  func connection(_ connection: APNsConnection, ended: [PushStreams.Ended]) {
    for end in ended {
      if case .unprocessed = end.outcome, end.request.handOvers < limits.handOversMax, !isShutDown {
        var request = end.request
        request.handOvers += 1
        waiting.append(request)
        continue
      }
      judge(end.outcome)
      finished.append(PushResult(ticket: end.request.ticket, outcome: end.outcome))
    }
    advance()
  }

  func connectionClosed(_ connection: APNsConnection, wasReady: Bool, why: String) {
    let wasKnown = connections.contains { $0 === connection }
    connections.removeAll { $0 === connection }
    // Nothing was sent before it was ready, so no outcome has informed the breaker.
    if !wasReady, wasKnown { connectFailed(why) }
    advance()
  }
}
