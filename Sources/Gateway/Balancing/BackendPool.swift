import CampanileRPC
import NIOCore

/// The addresses of one backend as one event loop sees them. Used on that loop only.
final class BackendPool {
  let name: String
  private(set) var addresses: [BackendAddress] = []
  /// Those that are none of the backend's any more and finish their calls.
  private(set) var leaving: [BackendAddress] = []
  private var isStarted = false
  private let loop: any EventLoop
  private let onChange: () -> Void
  private var detector: OutlierDetector
  private var balancer: LoadBalancer
  private let onEjection: (String) -> Void
  /// What this loop may have under way here.
  var admission: BackendGuard
  var breaker: CircuitBreaker
  /// For sending calls to another address.
  var budget: RetryBudget
  /// After how long a reading call is sent to a second address too; `nil` for never.
  private(set) var hedgeMs: Int64?
  private var hedgeMsAsked: Int64?

  /// What became of a call at an address.
  enum Outcome: Sendable, Hashable {
    case answered
    /// It was answered with a fault of the server's own.
    case fault
    /// There was no answer, or one that the server does not work.
    case unavailable
    /// It tells nothing: the call was ended from here.
    case gaveUp

    /// `isAnswer`: the server itself said so, in an answer to the call. One whose handler ran and met a broken disk is there all the
    /// same, and may still answer what only reads.
    init(_ error: RPCError, isAnswer: Bool) {
      if error.code == .unavailable, !(isAnswer && error.processed) {
        self = .unavailable
      } else {
        self = BackendFailure.isServerFault(error) ? .fault : .answered
      }
    }
  }

  init(
    _ backend: BackendConfiguration, clients: [RPCClient], loop: any EventLoop, outliers: OutlierPolicy,
    limits: LimitPolicy, breaker: BreakerPolicy, retries: SecondAttemptPolicy, seed: UInt64,
    onChange: @escaping () -> Void, onEjection: @escaping (String) -> Void
  ) {
    name = backend.name
    detector = OutlierDetector(outliers, addressCount: clients.count)
    balancer = LoadBalancer(seed: seed)
    self.onEjection = onEjection
    admission = BackendGuard(callsMax: limits.backendCallsMax, streamsMax: limits.backendStreamsMax)
    self.breaker = CircuitBreaker(breaker)
    budget = RetryBudget(ratio: retries.ratio, burst: retries.burst)
    hedgeMsAsked = retries.hedgeMs
    self.loop = loop
    self.onChange = onChange
    add(clients)
  }

  private func add(_ clients: [RPCClient]) {
    for client in clients {
      // Fewer than there are indices: the directory sees to that.
      guard let index = freeIndex() else { return }
      detector.forget(index)
      let address = BackendAddress(index: index, client: client, loop: loop) { [unowned self] in
        // A server that says that it serves need not be tried out.
        if isServing { self.breaker.succeeded() }
        onChange()
      }
      addresses.append(address)
      if isStarted { address.start() }
    }
    detector.addressCount = addresses.count
    hedge(afterMs: hedgeMsAsked)
  }

  /// One that calls under way have not tried as another address, if there is one.
  private func freeIndex() -> Int? {
    let all = 0..<BackendConfiguration.addressesMax
    let taken = addresses.map(\.index)
    let remembered = taken + leaving.map(\.index)
    return all.first { !remembered.contains($0) } ?? all.first { !taken.contains($0) }
  }

  func hedge(afterMs: Int64?) {
    hedgeMsAsked = afterMs
    hedgeMs = addresses.count > 1 ? afterMs : nil
  }

  func start() {
    isStarted = true
    for address in addresses { address.start() }
  }

  func stop() { for address in addresses { address.stop() } }

  /// Has calls go to these from now on. Answers the addresses that are left behind.
  ///
  /// - Parameter onUnused: told of each of them when its last call has ended.
  func replace(_ clients: [RPCClient], onUnused: @escaping (RPCClient) -> Void) -> [BackendAddress] {
    let left = addresses.filter { address in !clients.contains { $0 === address.client } }
    addresses.removeAll { address in left.contains { $0 === address } }
    leaving += left
    add(clients.filter { client in !addresses.contains { $0.client === client } })
    for address in left {
      address.leave { [unowned self, unowned address] in
        leaving.removeAll { $0 === address }
        onUnused(address.client)
      }
      // They were not sent: they go to another address.
      address.client.failWaiting(on: loop)
    }
    onChange()
    return left
  }

  /// Whether any address serves.
  var isServing: Bool { addresses.contains(where: \.isServing) }

  /// The address for a call; `nil` when all were tried. `tried` has a bit for each index that was.
  @inline(__always)
  func choose(tried: UInt16 = 0) -> BackendAddress? {
    if addresses.count == 1 { return tried & addresses[0].bit == 0 ? addresses[0] : nil }
    return chooseAmongMany(tried: tried)
  }

  private func chooseAmongMany(tried: UInt16) -> BackendAddress? {
    let nowMs = self.nowMs
    let candidates = addresses.map { address in
      LoadBalancer.Candidate(load: address.openCalls, tier: tier(of: address, tried: tried, nowMs: nowMs))
    }
    return balancer.choose(candidates).map { addresses[$0] }
  }

  private func tier(of address: BackendAddress, tried: UInt16, nowMs: Int64) -> LoadBalancer.Tier {
    if tried & address.bit != 0 { return .excluded }
    if detector.isEjected(address.index, nowMs: nowMs) || address.health == .notServing { return .doubtful }
    return address.isConnected ? .ready : .unconnected
  }

  /// A call to the address has ended. With one address there is nothing to choose, so the address is not judged.
  @inline(__always)
  func ended(_ address: BackendAddress, _ outcome: Outcome) {
    address.openCalls -= 1
    defer { address.callEnded() }
    switch outcome {
    case .answered, .fault: breaker.succeeded()
    case .unavailable: if !address.isLeaving { breaker.failed(nowMs: nowMs) }
    case .gaveUp: if !breaker.isClosed { breaker.toldNothing(nowMs: nowMs) }
    }
    // Its index may be another one's by now.
    guard addresses.count > 1, !address.isLeaving else { return }
    budget.called()
    switch outcome {
    case .answered, .gaveUp: detector.succeeded(address.index, nowMs: nowMs)
    case .fault, .unavailable:
      if detector.failed(address.index, nowMs: nowMs) {
        onEjection(address.text)
      }
    }
  }

  /// Throws UNAVAILABLE while calls to the backend do not get through.
  @inline(__always)
  func checkBreaker() throws(RPCError) {
    guard !breaker.isClosed, let waitMs = breaker.admit(nowMs: nowMs) else { return }
    throw BackendFailure.circuitOpen(name, waitMs: waitMs)
  }

  /// What this loop knows, for the operator.
  var facts: BackendFacts {
    let nowMs = self.nowMs
    let all = (addresses + leaving).map { address in
      AddressFacts(
        address: address.text, health: "\(address.health)", isConnected: address.isConnected,
        ejectedForMs: address.isLeaving ? nil : detector.ejectedForMs(address.index, nowMs: nowMs),
        isLeaving: address.isLeaving, openCalls: address.openCalls)
    }
    let state =
      switch breaker.state {
      case .closed: "closed"
      case .open: "open"
      case .halfOpen: "halfOpen"
      }
    return BackendFacts(
      name: name, isServing: isServing, breaker: state, openCalls: admission.calls, openStreams: admission.streams,
      addresses: all)
  }

  private var nowMs: Int64 { Int64(loop.now.uptimeNanoseconds / 1_000_000) }
}
