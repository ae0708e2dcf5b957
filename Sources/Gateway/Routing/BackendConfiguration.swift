public import CampanileBase
import CampanileRPC

/// A service of the suite behind the gateway, and its addresses.
public struct BackendConfiguration: Sendable, Hashable {
  /// The service's short name in scopes: `[a-z][a-z0-9-]{0,31}`, except `admin`.
  public var name: String
  /// The common prefix of its RPC services' full names, for example `campanile.notifications.`.
  public var servicePrefix: String
  /// Maximum number of addresses of one backend, including those that its names resolve to.
  static let addressesMax = 16
  /// The addresses that serve the same data, 1 to 16. A host name stands for all its addresses.
  public var addresses: [HostPort]

  public init(name: String, servicePrefix: String? = nil, addresses: [HostPort]) {
    self.name = name
    self.servicePrefix = servicePrefix ?? "campanile.\(name)."
    self.addresses = addresses
  }

  /// Parses `NAME=HOST:PORT` and `NAME@PREFIX=HOST:PORT` entries. A repeated name adds an address.
  ///
  /// - Throws: INVALID_ARGUMENT `CONFIGURATION_INVALID` with the entry if it is malformed, or if there are too many
  ///   backends or addresses.
  public static func parse(_ entries: [String]) throws(RPCError) -> [BackendConfiguration] {
    var backends: [BackendConfiguration] = []
    for entry in entries {
      let backend = try read(entry)
      if let index = backends.firstIndex(where: { $0.name == backend.name }) {
        guard backends[index].servicePrefix == backend.servicePrefix else {
          throw invalid(entry, "has another prefix than the entry before it")
        }
        backends[index].addresses += backend.addresses
      } else {
        backends.append(backend)
      }
    }
    try check(backends)
    return backends
  }

  private static func read(_ entry: String) throws(RPCError) -> BackendConfiguration {
    guard let equals = entry.firstIndex(of: "=") else { throw invalid(entry, "is not NAME=HOST:PORT") }
    let names = entry[..<equals].split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let address = HostPort(entry[entry.index(after: equals)...]) else {
      throw invalid(entry, "has no HOST:PORT")
    }
    return BackendConfiguration(
      name: names[0], servicePrefix: names.count > 1 ? names[1] : nil,
      addresses: [address])
  }

  /// Throws INVALID_ARGUMENT `CONFIGURATION_INVALID` if calls cannot be routed to the backends.
  static func check(_ backends: [BackendConfiguration]) throws(RPCError) {
    guard backends.count <= 64 else { throw invalid("\(backends.count) backends", "are more than 64") }
    for (index, backend) in backends.enumerated() {
      guard Scope.isServiceName(backend.name), backend.name != "admin" else {
        throw invalid(backend.name, "is not a service name")
      }
      guard (1...16).contains(backend.addresses.count), Set(backend.addresses).count == backend.addresses.count else {
        throw invalid(backend.name, "needs 1 to 16 different addresses")
      }
      guard !backend.servicePrefix.isEmpty, !backend.servicePrefix.contains("/") else {
        throw invalid(backend.name, "needs a prefix of service names")
      }
      for other in backends[..<index] {
        guard other.name != backend.name, !other.servicePrefix.hasPrefix(backend.servicePrefix),
          !backend.servicePrefix.hasPrefix(other.servicePrefix)
        else { throw invalid(backend.name, "overlaps with \(other.name)") }
      }
    }
  }

  private static func invalid(_ what: String, _ why: String) -> RPCError {
    RPCError(
      .invalidArgument, "backends: \(what.debugDescription) \(why)", reason: "CONFIGURATION_INVALID", processed: false)
  }
}
