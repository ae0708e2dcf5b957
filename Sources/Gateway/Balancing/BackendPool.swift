import CampanileRPC
import NIOCore

/// The addresses of one backend as one event loop sees them. Used on that loop only.
final class BackendPool {
  let name: String
  private(set) var addresses: [BackendAddress] = []
  private var detector: OutlierDetector
  private var balancer: LoadBalancer
  private let onEjection: (String) -> Void
  /// What this loop may have under way here.
  var admission: BackendGuard
  var breaker: CircuitBreaker
  /// For sending calls to another address.
  var budget: RetryBudget
  /// After how long a reading call is sent to a second address too; `nil` for never.
  let hedgeMs: Int64?

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
    limits: LimitPolicy, breaker: BreakerPolicy, retries: SecondAttemptPolicy,
    onChange: @escaping () -> Void, onEjection: @escaping (String) -> Void
  ) {
    name = backend.name
    detector = OutlierDetector(outliers, addressCount: clients.count)
    balancer = LoadBalancer(seed: UInt64.random(in: .min ... .max))
    self.onEjection = onEjection
    admission = BackendGuard(callsMax: limits.backendCallsMax, streamsMax: limits.backendStreamsMax)
    self.breaker = CircuitBreaker(breaker)
    budget = RetryBudget(ratio: retries.ratio, burst: retries.burst)
    hedgeMs = clients.count > 1 ? retries.hedgeMs : nil
    addresses = clients.enumerated().map { index, client in
      BackendAddress(index: index, client: client, loop: loop) { [unowned self] in
        // A server that says that it serves need not be tried out.
        if isServing { self.breaker.succeeded() }
        onChange()
      }
    }
  }

  func start() { for address in addresses { address.start() } }
  func stop() { for address in addresses { address.stop() } }

  /// Whether any address serves.
  var isServing: Bool { addresses.contains(where: \.isServing) }

  /// The address for a call; `nil` when all were tried. `tried` has a bit for each index that was.
  @inline(__always)
  func choose(tried: UInt16 = 0) -> BackendAddress? {
    if addresses.count == 1 { return tried == 0 ? addresses[0] : nil }
    return chooseAmongMany(tried: tried)
  }

  private func chooseAmongMany(tried: UInt16) -> BackendAddress? {
    let nowMs = Self.nowMs
    let candidates = addresses.map { address in
      LoadBalancer.Candidate(load: address.openCalls, tier: tier(of: address, tried: tried, nowMs: nowMs))
    }
    return balancer.choose(candidates).map { addresses[$0] }
  }

  private func tier(of address: BackendAddress, tried: UInt16, nowMs: Int64) -> LoadBalancer.Tier {
    if tried & (1 << UInt16(truncatingIfNeeded: address.index)) != 0 { return .excluded }
    if detector.isEjected(address.index, nowMs: nowMs) || address.health == .notServing { return .doubtful }
    return address.isConnected ? .ready : .unconnected
  }

  /// A call to the address has ended. With one address there is nothing to choose, so the address is not judged.
  @inline(__always)
  func ended(_ address: BackendAddress, _ outcome: Outcome) {
    address.openCalls -= 1
    switch outcome {
    case .answered, .fault: breaker.succeeded()
    case .unavailable: breaker.failed(nowMs: Self.nowMs)
    case .gaveUp: if !breaker.isClosed { breaker.toldNothing(nowMs: Self.nowMs) }
    }
    guard addresses.count > 1 else { return }
    budget.called()
    switch outcome {
    case .answered, .gaveUp: detector.succeeded(address.index, nowMs: Self.nowMs)
    case .fault, .unavailable:
      if detector.failed(address.index, nowMs: Self.nowMs) {
        onEjection("\(address.client.configuration.addresses.first?.description ?? "")")
      }
    }
  }

  /// Throws UNAVAILABLE while calls to the backend do not get through.
  @inline(__always)
  func checkBreaker() throws(RPCError) {
    guard !breaker.isClosed, let waitMs = breaker.admit(nowMs: Self.nowMs) else { return }
    throw BackendFailure.circuitOpen(name, waitMs: waitMs)
  }

  private static var nowMs: Int64 { Int64(NIODeadline.now().uptimeNanoseconds / 1_000_000) }
}
