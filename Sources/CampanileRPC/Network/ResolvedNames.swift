package import CampanileBase

/// An address to connect to, and the configured host, whose certificate the server must present.
package struct ServerEndpoint: Sendable, Hashable {
  package var address: HostPort
  package var host: String

  package init(address: HostPort, host: String) {
    self.address = address
    self.host = host
  }
}

/// The addresses that names of servers resolve to.
///
/// A name that fails to resolve keeps its last addresses. Before its first success, clients connect to the name itself.
package struct ResolvedNames: Sendable {
  private var addresses: [String: [IPAddress]] = [:]
  private var unresolved: Set<String> = []

  package init() {}

  /// Returns the hosts that are names, not addresses.
  package static func names(in addresses: some Sequence<HostPort>) -> Set<String> {
    Set(addresses.map(\.host).filter { IPAddress($0) == nil })
  }

  /// Stores the addresses found for each name, and returns the names that have failed now and not the last time.
  @discardableResult
  package mutating func note(_ found: [String: [IPAddress]]) -> Set<String> {
    for (name, addresses) in found where !addresses.isEmpty { self.addresses[name] = addresses }
    let failed = Set(found.filter(\.value.isEmpty).keys)
    defer { unresolved = failed }
    return failed.subtracting(unresolved)
  }

  /// Returns at most `countMax` different endpoints of servers, in a stable order.
  package func endpoints(of servers: [HostPort], countMax: Int = .max) -> [ServerEndpoint] {
    var endpoints: [ServerEndpoint] = []
    for server in servers {
      // Sort: name servers rotate the order, but the selection below must be stable.
      let found = (addresses[server.host] ?? []).map(\.text).sorted()
      let all = found.isEmpty ? [server] : found.map { HostPort(host: $0, port: server.port) }
      for one in all where endpoints.count < countMax && !endpoints.contains(where: { $0.address == one }) {
        endpoints.append(ServerEndpoint(address: one, host: server.host))
      }
    }
    return endpoints
  }
}

extension HostResolving {
  /// Resolves names concurrently. A name without an answer within `timeoutMs` has no addresses.
  package func addresses(of names: Set<String>, timeoutMs: Int64) async -> [String: [IPAddress]] {
    await withTaskGroup(of: (String, [IPAddress]).self) { group in
      for name in names { group.addTask { (name, await addressesOfOneFamily(name, timeoutMs: timeoutMs)) } }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
  }

  /// Returns the addresses of one family, so that a dual-stack host counts once: IPv4 if there is any.
  private func addressesOfOneFamily(_ name: String, timeoutMs: Int64) async -> [IPAddress] {
    let found = await withTaskGroup(of: [IPAddress].self) { group in
      group.addTask { await addresses(of: name) }
      group.addTask {
        try? await Task.sleep(for: .milliseconds(timeoutMs))
        return []
      }
      let first = await group.next() ?? []
      group.cancelAll()
      return first
    }
    let four = found.map(\.unmapped).filter(\.isIPv4)
    return four.isEmpty ? found : four
  }
}
