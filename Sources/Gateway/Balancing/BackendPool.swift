import CampanileBase
import CampanileRPC
import NIOCore

/// The addresses of one backend, as seen by one event loop. Used on that loop only.
final class BackendPool {
  let name: String
  private(set) var addresses: [BackendAddress] = []
  /// Removed addresses that finish their calls.
  private(set) var leaving: [BackendAddress] = []
  private var isStarted = false
  private let loop: any EventLoop
  private let onChange: () -> Void
  private var detector: OutlierDetector
  private var balancer: LoadBalancer
  private let onEjection: (String) -> Void
  /// Limits the calls in progress to this backend on this loop.
  var admission: BackendGuard
  var breaker: CircuitBreaker
  /// The budget for retries and hedged calls.
  var budget: SecondAttemptBudget
  /// The delay after which a read-only call is also sent to a second address; `nil` for never.
  private(set) var hedgeMs: Int64?
  private var hedgeMsAsked: Int64?

  /// The result of a call at an address.
  enum Outcome: Sendable, Hashable {
    case answered
    /// The server responded with an error that it caused itself.
    case fault
    /// There was no response, or the server reported that it is unavailable.
    case unavailable
    /// The gateway or the caller ended the call; the result says nothing about the server.
    case gaveUp

    /// Classifies the error of a call.
    ///
    /// - Parameter isAnswer: Whether the server sent the error. A server whose handler ran and failed with UNAVAILABLE,
    ///   for example because of a broken disk, is reachable and may still serve reads.
    init(_ error: RPCError, isAnswer: Bool) {
      if error.code == .unavailable, !(isAnswer && error.processed) {
        self = .unavailable
      } else if error.code == .deadlineExceeded, !isAnswer {
        self = .gaveUp
      } else {
        self = BackendFailure.isServerFault(error) ? .fault : .answered
      }
    }
  }

  init(
    _ backend: BackendConfiguration, clients: [RPCClient], loop: any EventLoop, outliers: OutlierPolicy,
    limits: GatewayLimits, breaker: BreakerPolicy, retries: SecondAttemptPolicy, seed: UInt64,
    onChange: @escaping () -> Void, onEjection: @escaping (String) -> Void
  ) {
    name = backend.name
    detector = OutlierDetector(outliers, addressCount: clients.count)
    balancer = LoadBalancer(seed: seed)
    self.onEjection = onEjection
    admission = BackendGuard(callsMax: limits.backendCallsMax, streamsMax: limits.backendStreamsMax)
    self.breaker = CircuitBreaker(breaker)
    budget = SecondAttemptBudget(ratio: retries.ratio, burst: retries.burst)
    hedgeMsAsked = retries.hedgeMs
    self.loop = loop
    self.onChange = onChange
    add(clients)
  }

  private func add(_ clients: [RPCClient]) {
    for client in clients {
      // Does not happen: the directory limits the addresses to the number of indices.
      guard let index = freeIndex() else { return }
      detector.forget(index)
      let address = BackendAddress(index: index, client: client, loop: loop) { [unowned self] in
        // A server that reports SERVING needs no probe.
        if isServing { self.breaker.succeeded() }
        onChange()
      }
      addresses.append(address)
      if isStarted { address.start() }
    }
    detector.addressCount = addresses.count
    hedge(afterMs: hedgeMsAsked)
  }

  /// Returns a free index. Prefers one that no leaving address has, because pending calls may have marked that as
  /// tried.
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

  /// Sends new calls to these clients only.
  ///
  /// - Parameter onUnused: Called for each removed client when its last call has ended.
  /// - Returns: The removed addresses.
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
      // Calls that wait for a connection have not been sent, so they can go to another address.
      address.client.failWaiting(on: loop)
    }
    onChange()
    return left
  }

  /// Whether any address is serving.
  var isServing: Bool { addresses.contains(where: \.isServing) }

  /// Returns the address for a call; `nil` if all were tried. `tried` has a bit for each tried index.
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

  /// Records the end of a call. Outliers are not detected with a single address, because there is no alternative to it.
  @inline(__always)
  func ended(_ address: BackendAddress, _ outcome: Outcome) {
    address.openCalls -= 1
    defer { address.callEnded() }
    switch outcome {
    case .answered, .fault: breaker.succeeded()
    case .unavailable: if !address.isLeaving { breaker.failed(nowMs: nowMs) }
    case .gaveUp: if !breaker.isClosed { breaker.probeAbandoned(nowMs: nowMs) }
    }
    // The index of a leaving address may already belong to another one.
    guard addresses.count > 1, !address.isLeaving else { return }
    switch outcome {
    case .answered: detector.succeeded(address.index, nowMs: nowMs)
    case .fault, .unavailable:
      if detector.failed(address.index, nowMs: nowMs) {
        onEjection(address.text)
      }
    // Callers that give up must not clear the failures of an address that hangs.
    case .gaveUp: break
    }
  }

  /// Throws UNAVAILABLE while the circuit breaker rejects calls to the backend.
  @inline(__always)
  func checkBreaker() throws(RPCError) {
    guard !breaker.isClosed, let waitMs = breaker.admit(nowMs: nowMs) else { return }
    throw BackendFailure.circuitOpen(name, waitMs: waitMs)
  }

  /// The state of the backend on this loop, for the operator.
  var status: BackendStatus {
    let nowMs = self.nowMs
    let all = (addresses + leaving).map { address in
      AddressStatus(
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
    return BackendStatus(
      name: name, isServing: isServing, breaker: state, openCalls: admission.calls, openStreams: admission.streams,
      addresses: all)
  }

  private var nowMs: Int64 { Int64(loop.now.uptimeNanoseconds / 1_000_000) }
}
