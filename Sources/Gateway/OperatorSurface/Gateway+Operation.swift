import CampanileBase
import CampanileRPC
import Foundation
import NIOCore
import Synchronization

/// The gateway's pages for the operator.
extension Gateway {
  /// Maximum number of open calls and callers in one response.
  static let factsMax = 1_000

  /// Returns `/admin/routes`, `/admin/backends`, `/admin/calls`, `/admin/limits` or `/admin/summary` as JSON; `nil` for
  /// other paths.
  ///
  /// - Parameter limit: Maximum number of calls and callers: 100 by default, at most 1,000.
  public func operatorPage(path: String, limit: Int?) async throws -> [UInt8]? {
    let countMax = min(max(limit ?? 100, 1), Self.factsMax)
    switch path {
    case "/admin/routes": return try Self.page(["routes": routes.withLock { $0?.descriptions } ?? []])
    case "/admin/backends": return try Self.page(["backends": await backendStatuses()])
    case "/admin/calls": return try Self.page(["calls": await openCallRecords(countMax)])
    case "/admin/limits": return try Self.page(limitUsage(countMax))
    case "/admin/summary": return try Self.page(await summary())
    default: return nil
    }
  }

  func summary() async -> GatewaySummary {
    let backends = await backendStatuses()
    return GatewaySummary(
      uptimeMs: (MonotonicClock.nowNs() - startedAtNs) / 1_000_000, residentBytes: memory.residentBytes,
      openCalls: backends.reduce(0) { $0 + $1.openCalls }, openStreams: backends.reduce(0) { $0 + $1.openStreams },
      backends: backends, methods: methodSummaries)
  }

  /// The methods that have been called, sorted by name.
  private var methodSummaries: [GatewaySummary.Method] {
    calls.all.filter { $0.started > 0 }.map { method in
      GatewaySummary.Method(
        method: method.method?.path ?? MethodMetrics.other, started: method.started, succeeded: method.succeeded,
        failures: Dictionary(method.failures.map { ($0.key.name, $0.value) }) { $1 },
        latency: method.durations.reading.filled)
    }
    .sorted { $0.method < $1.method }
  }

  /// Returns the oldest calls of all loops, oldest first.
  func openCallRecords(_ countMax: Int) async -> [OpenCallRecord] {
    var all: [OpenCallRecord] = []
    for loop in loops { all += await loop.asked { $0.openCalls(countMax) } ?? [] }
    return Array(all.sorted { $0.ageMs > $1.ageMs }.prefix(countMax))
  }

  /// Returns the state of each backend, merged over all loops.
  func backendStatuses() async -> [BackendStatus] {
    var merged: [BackendStatus] = []
    for loop in loops {
      let statuses = await loop.asked { $0.pools.map(\.status) } ?? []
      guard !merged.isEmpty else {
        merged = statuses
        continue
      }
      for (index, other) in statuses.enumerated() where index < merged.count { merged[index].add(other) }
    }
    return merged
  }

  func limitUsage(_ countMax: Int) -> LimitUsage {
    let policy = limits.policy
    let nowNs = MonotonicClock.nowNs()
    return LimitUsage(
      gateways: limits.gatewayCount, principalRate: policy.principalRate?.description,
      addressRate: policy.addressRate?.description,
      anonymousRate: policy.anonymousRate?.description, principalCallsMax: policy.principalCallsMax,
      principalStreamsMax: policy.principalStreamsMax, backendCallsMax: policy.backendCallsMax,
      backendStreamsMax: policy.backendStreamsMax, memoryBytesMax: memory.limit, residentBytes: memory.residentBytes,
      memoryPressure: memory.levelName, principals: keys.ring.shares.busiest(countMax, nowNs: nowNs),
      addresses: admission.addresses.busiest(countMax, nowNs: nowNs))
  }

  private static func page(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(value)) + [UInt8(ascii: "\n")]
  }
}

extension LoopForwarder {
  /// Runs `body` on the loop; returns `nil` if the loop has shut down.
  func asked<Answer: Sendable>(_ body: @escaping @Sendable (LoopForwarder) -> Answer) async -> Answer? {
    try? await loop.submit { body(self) }.get()
  }
}

extension BackendStatus {
  /// Merges the state from another event loop.
  mutating func add(_ other: BackendStatus) {
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

extension AddressStatus {
  fileprivate mutating func add(_ other: AddressStatus) {
    let order = ["unknown", "notServing", "serving"]
    if order.firstIndex(of: other.health) ?? 0 > order.firstIndex(of: health) ?? 0 { health = other.health }
    isConnected = isConnected || other.isConnected
    ejectedForMs = [ejectedForMs, other.ejectedForMs].compactMap(\.self).max()
    openCalls += other.openCalls
  }
}
