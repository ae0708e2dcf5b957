public import CampanileRPC

/// One service of the suite behind the gateway, and where it listens.
public struct BackendConfiguration: Sendable, Hashable {
  /// The service's short name, which scopes use: `[a-z][a-z0-9-]{0,31}`, not `admin`.
  public var name: String
  /// What the full names of its RPC services start with, for example `campanile.notifications.`.
  public var servicePrefix: String
  /// The most addresses of one backend, also of those that its names resolve to.
  static let addressesMax = 16
  /// The addresses that serve the same data, 1 to 16. A name stands for all that it resolves to.
  public var addresses: [ClientConfiguration.Address]

  public init(name: String, servicePrefix: String? = nil, addresses: [ClientConfiguration.Address]) {
    self.name = name
    self.servicePrefix = servicePrefix ?? "campanile.\(name)."
    self.addresses = addresses
  }

  /// Reads `NAME=HOST:PORT` and `NAME@PREFIX=HOST:PORT` entries; a name that comes again adds an address.
  ///
  /// Throws INVALID_ARGUMENT `CONFIGURATION_INVALID` naming the entry for other text, and for more backends or addresses than
  /// there may be.
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
    guard let address = ClientConfiguration.Address(entry[entry.index(after: equals)...]) else {
      throw invalid(entry, "has no HOST:PORT")
    }
    return BackendConfiguration(
      name: names[0], servicePrefix: names.count > 1 ? names[1] : nil,
      addresses: [address])
  }

  /// Throws INVALID_ARGUMENT `CONFIGURATION_INVALID` for a set of backends that cannot be routed to.
  static func check(_ backends: [BackendConfiguration]) throws(RPCError) {
    guard backends.count <= 64 else { throw invalid("\(backends.count) backends", "are more than 64") }
    for (index, backend) in backends.enumerated() {
      guard Scope.isServiceName(backend.name), backend.name != "admin" else {
        throw invalid(backend.name, "is no service's name")
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
