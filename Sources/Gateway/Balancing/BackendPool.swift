import CampanileRPC
import NIOCore

/// The addresses of one backend as one event loop sees them. Used on that loop only.
final class BackendPool {
  let name: String
  private(set) var addresses: [BackendAddress] = []
  private var detector: OutlierDetector
  private var balancer: LoadBalancer
  private let onEjection: (String) -> Void

  init(
    _ backend: BackendConfiguration, clients: [RPCClient], loop: any EventLoop, outliers: OutlierPolicy,
    onChange: @escaping () -> Void, onEjection: @escaping (String) -> Void
  ) {
    name = backend.name
    detector = OutlierDetector(outliers, addressCount: clients.count)
    balancer = LoadBalancer(seed: UInt64.random(in: .min ... .max))
    self.onEjection = onEjection
    addresses = clients.enumerated().map {
      BackendAddress(index: $0, client: $1, loop: loop, onChange: onChange)
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

  /// A call to the address has ended. With one address there is nothing to choose, so nothing is counted.
  @inline(__always)
  func ended(_ address: BackendAddress, isServerFault: Bool) {
    address.openCalls -= 1
    guard addresses.count > 1 else { return }
    if !isServerFault {
      detector.succeeded(address.index, nowMs: Self.nowMs)
    } else if detector.failed(address.index, nowMs: Self.nowMs) {
      onEjection("\(address.client.configuration.addresses.first?.description ?? "")")
    }
  }

  private static var nowMs: Int64 { Int64(NIODeadline.now().uptimeNanoseconds / 1_000_000) }
}
