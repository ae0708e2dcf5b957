import CampanileRPC
import Foundation
import NIOCore
import Synchronization

/// What the operator's surface asks of the gateway.
extension Gateway {
  /// The most open calls and callers of one answer.
  static let factsMax = 1_000

  /// Answers `/admin/routes`, `/admin/backends`, `/admin/calls`, `/admin/limits` and `/admin/summary`; `nil` for other paths.
  ///
  /// - Parameter limit: of calls and callers, at most 1,000.
  public func operatorAnswer(path: String, limit: Int?) async -> HTTPAnswer? {
    let countMax = min(max(limit ?? 100, 1), Self.factsMax)
    switch path {
    case "/admin/routes": return Self.answer(["routes": routes.withLock { $0?.facts } ?? []])
    case "/admin/backends": return Self.answer(["backends": await backendFacts()])
    case "/admin/calls": return Self.answer(["calls": await openCallFacts(countMax)])
    case "/admin/limits": return Self.answer(limitFacts(countMax))
    case "/admin/summary": return Self.answer(await summary())
    default: return nil
    }
  }

  func summary() async -> OperationSummary {
    let backends = await backendFacts()
    return OperationSummary(
      uptimeMs: (MonotonicClock.nowNs() - startedAtNs) / 1_000_000, residentBytes: memory.residentBytes,
      openCalls: backends.reduce(0) { $0 + $1.openCalls }, openStreams: backends.reduce(0) { $0 + $1.openStreams },
      backends: backends, methods: statistics.facts)
  }

  /// The oldest calls of all loops, the oldest first.
  func openCallFacts(_ countMax: Int) async -> [OpenCallFacts] {
    var all: [OpenCallFacts] = []
    for loop in loops { all += await loop.asked { $0.openCalls(countMax) } ?? [] }
    return Array(all.sorted { $0.ageMs > $1.ageMs }.prefix(countMax))
  }

  /// Each backend as all loops together see it.
  func backendFacts() async -> [BackendFacts] {
    var merged: [BackendFacts] = []
    for loop in loops {
      let facts = await loop.asked { $0.pools.map(\.facts) } ?? []
      guard !merged.isEmpty else {
        merged = facts
        continue
      }
      for (index, other) in facts.enumerated() where index < merged.count { merged[index].add(other) }
    }
    return merged
  }

  func limitFacts(_ countMax: Int) -> LimitFacts {
    let policy = limits.policy
    let nowNs = MonotonicClock.nowNs()
    return LimitFacts(
      principalRate: policy.principalRate?.description, addressRate: policy.addressRate?.description,
      anonymousRate: policy.anonymousRate?.description, principalCallsMax: policy.principalCallsMax,
      principalStreamsMax: policy.principalStreamsMax, backendCallsMax: policy.backendCallsMax,
      backendStreamsMax: policy.backendStreamsMax, memoryBytesMax: memory.limit, residentBytes: memory.residentBytes,
      memoryPressure: memory.levelName, principals: keys.ring.shares.busiest(countMax, nowNs: nowNs),
      addresses: admission.addresses.busiest(countMax, nowNs: nowNs))
  }

  private static func answer(_ facts: some Encodable) -> HTTPAnswer {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(facts) else {
      return HTTPAnswer(status: 500, contentType: "application/json", body: Array("{}\n".utf8))
    }
    return HTTPAnswer(status: 200, contentType: "application/json", body: Array(data) + [UInt8(ascii: "\n")])
  }
}

extension LoopForwarder {
  /// Asks on the loop; `nil` when that has ended.
  func asked<Answer: Sendable>(_ body: @escaping @Sendable (LoopForwarder) -> Answer) async -> Answer? {
    try? await loop.submit { body(self) }.get()
  }
}

extension BackendFacts {
  /// Adds what another event loop knows.
  mutating func add(_ other: BackendFacts) {
    let order = ["closed", "halfOpen", "open"]
    isServing = isServing || other.isServing
    if order.firstIndex(of: other.breaker) ?? 0 > order.firstIndex(of: breaker) ?? 0 { breaker = other.breaker }
    openCalls += other.openCalls
    openStreams += other.openStreams
    for address in other.addresses {
      guard
        let index = addresses.firstIndex(where: { $0.address == address.address && $0.isLeaving == address.isLeaving })
      else {
        addresses.append(address)
        continue
      }
      addresses[index].add(address)
    }
  }
}

extension AddressFacts {
  fileprivate mutating func add(_ other: AddressFacts) {
    let order = ["unknown", "notServing", "serving"]
    if order.firstIndex(of: other.health) ?? 0 > order.firstIndex(of: health) ?? 0 { health = other.health }
    isConnected = isConnected || other.isConnected
    ejectedForMs = [ejectedForMs, other.ejectedForMs].compactMap(\.self).max()
    openCalls += other.openCalls
  }
}
