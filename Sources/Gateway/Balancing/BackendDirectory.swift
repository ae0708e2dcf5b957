import CampanileBase
import CampanileRPC
import Logging
import NIOCore
import Synchronization

/// The current addresses of each backend: configured addresses, and those that configured names resolve to.
///
/// Thread-safe. A name that fails to resolve keeps its last addresses. Before its first success, clients connect to the
/// name itself.
final class BackendDirectory: Sendable {
  private struct Entry {
    var backend: BackendConfiguration
    /// In the order of the addresses.
    var clients: [(address: HostPort, client: RPCClient)] = []
  }
  private struct State {
    var entries: [Entry]
    var resolved = ResolvedNames()
    /// Clients of removed addresses that finish their calls.
    var leaving: [ObjectIdentifier: RPCClient] = [:]
    var isClosed = false
  }

  private let make: @Sendable (HostPort, _ serverName: String?) throws(RPCError) -> RPCClient
  private let resolver: any HostResolving
  private let resolveTimeoutMs: Int64
  private let logger: Logger
  private let state: Mutex<State>

  /// - Parameter make: Creates the client of an address; the second argument is the name that resolved to it, if any.
  init(
    _ backends: [BackendConfiguration], resolver: any HostResolving, resolveTimeoutMs: Int64, logger: Logger,
    make: @escaping @Sendable (HostPort, _ serverName: String?) throws(RPCError) -> RPCClient
  ) throws(RPCError) {
    self.make = make
    self.resolver = resolver
    self.resolveTimeoutMs = resolveTimeoutMs
    self.logger = logger
    var entries: [Entry] = []
    for backend in backends {
      var entry = Entry(backend: backend)
      for address in backend.addresses { entry.clients.append((address, try make(address, nil))) }
      entries.append(entry)
    }
    state = Mutex(State(entries: entries))
  }

  /// The clients of each backend, in the order of the backends.
  var clients: [[RPCClient]] { state.withLock { $0.entries.map { $0.clients.map(\.client) } } }

  private var names: Set<String> {
    state.withLock { state in ResolvedNames.names(in: state.entries.flatMap { $0.backend.addresses }) }
  }

  /// Resolves all names and publishes the changes to the loops.
  func resolve(_ loops: [LoopForwarder]) async {
    let names = names
    guard !names.isEmpty else { return }
    let found = await resolver.addresses(of: names, timeoutMs: resolveTimeoutMs)
    guard !Task.isCancelled else { return }
    note(found)
    publish(loops)
  }

  private func note(_ found: [String: [IPAddress]]) {
    for name in state.withLock({ $0.resolved.note(found) }).sorted() {
      logger.warning(
        "backend name does not resolve; keeping its last addresses", metadata: ["name": "\(name)"])
    }
  }

  /// Sets new addresses for the same backends. They take effect with the next `publish`.
  func configure(_ backends: [BackendConfiguration]) {
    state.withLock { state in
      for index in state.entries.indices where index < backends.count { state.entries[index].backend = backends[index] }
    }
  }

  /// Passes the new clients to each loop, for backends whose addresses have changed.
  func publish(_ loops: [LoopForwarder]) {
    for index in state.withLock({ $0.entries.indices }) {
      guard let change = update(index) else { continue }
      logger.notice(
        "backend addresses changed",
        metadata: ["backend": "\(change.name)", "addresses": "\(change.addresses.joined(separator: ", "))"])
      for client in change.left {
        // Each loop releases the client when its last call has ended; the last loop closes it.
        let retirement = Retirement(count: loops.count) { [weak self] in
          self?.state.withLock { $0.leaving[ObjectIdentifier(client)] = nil }
          Task { await client.close() }
        }
        change.retirements.withLock { $0[ObjectIdentifier(client)] = retirement }
      }
      for loop in loops {
        loop.loop.execute {
          loop.update(backend: index, clients: change.clients) { client in
            change.retirements.withLock { $0[ObjectIdentifier(client)] }?.done()
          }
        }
      }
    }
  }

  private final class Change: Sendable {
    let name: String
    let clients: [RPCClient]
    let addresses: [String]
    let left: [RPCClient]
    let retirements = Mutex<[ObjectIdentifier: Retirement]>([:])

    init(name: String, clients: [RPCClient], addresses: [String], left: [RPCClient]) {
      (self.name, self.clients, self.addresses, self.left) = (name, clients, addresses, left)
    }
  }

  /// A count of the loops that have not yet released a client.
  private final class Retirement: Sendable {
    private let remaining: Atomic<Int>
    private let onDone: @Sendable () -> Void

    init(count: Int, onDone: @escaping @Sendable () -> Void) {
      remaining = Atomic(count)
      self.onDone = onDone
    }

    func done() { if remaining.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { onDone() } }
  }

  private func update(_ index: Int) -> Change? {
    state.withLock { state in
      guard !state.isClosed else { return nil }
      let entry = state.entries[index]
      let wanted = state.resolved.endpoints(
        of: entry.backend.addresses, countMax: BackendConfiguration.addressesMax)
      guard Set(wanted.map(\.address)) != Set(entry.clients.map(\.address)) else { return nil }
      var clients: [(address: HostPort, client: RPCClient)] = []
      for endpoint in wanted {
        let address = endpoint.address
        if let kept = entry.clients.first(where: { $0.address == address }) {
          clients.append(kept)
        } else {
          do throws(RPCError) { clients.append((address, try make(address, endpoint.host))) } catch {
            logger.error(
              "cannot use backend address", metadata: ["address": "\(address)", "error": "\(error)"])
          }
        }
      }
      guard !clients.isEmpty else { return nil }
      let left = entry.clients.map(\.client).filter { old in !clients.contains { $0.client === old } }
      for client in left { state.leaving[ObjectIdentifier(client)] = client }
      state.entries[index].clients = clients
      return Change(
        name: entry.backend.name, clients: clients.map(\.client), addresses: clients.map { "\($0.address)" }, left: left
      )
    }
  }

  /// Closes all connections and ends their calls.
  func close() async {
    let clients = state.withLock { state in
      state.isClosed = true
      return state.entries.flatMap { $0.clients.map(\.client) } + state.leaving.values
    }
    for client in clients { await client.close() }
  }
}
