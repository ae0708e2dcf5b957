public import CampanileBase
import Synchronization

/// Limits the open connections of one listener, in total and by address group.
///
/// A connection is a stranger's until its peer presents a credential. At the total limit, the stranger that has been
/// without a call for longest is closed in favour of the new connection. Safe from any thread.
public final class ConnectionLimiter: Sendable {
  /// The limit that a new connection would exceed.
  public enum Refusal: Error, Sendable, Hashable { case addressGroup, process }

  private struct State {
    var connectionsMax: Int
    var openCount = 0
    var countsByGroup: [String: Int] = [:]
    var countsByPrincipal: [String: Int] = [:]
    /// Strangers by their positions in the queue; the lowest position is evicted first.
    var strangers: [UInt64: ConnectionTicket] = [:]
    var firstPlace: UInt64 = 0
    var nextPlace: UInt64 = 0

    mutating func enqueue(_ stranger: ConnectionTicket) {
      stranger.place = nextPlace
      strangers[nextPlace] = stranger
      nextPlace += 1
    }

    mutating func forget(_ ticket: ConnectionTicket) {
      guard let place = ticket.place else { return }
      strangers[place] = nil
      ticket.place = nil
    }

    mutating func uncountGroup(of ticket: ConnectionTicket) {
      guard let group = ticket.group else { return }
      ticket.group = nil
      let count = (countsByGroup[group] ?? 1) - 1
      countsByGroup[group] = count > 0 ? count : nil
    }

    /// Removes and returns the stranger to evict. A stranger with a call since its last turn moves to the end of the
    /// queue, once.
    mutating func takeIdleStranger() -> ConnectionTicket? {
      var remaining = strangers.count
      while firstPlace < nextPlace, !strangers.isEmpty {
        defer { firstPlace += 1 }
        guard let stranger = strangers.removeValue(forKey: firstPlace) else { continue }
        stranger.place = nil
        if stranger.takeActivity(), remaining > 0 {
          remaining -= 1
          enqueue(stranger)
          continue
        }
        return stranger
      }
      return nil
    }

    mutating func close(_ ticket: ConnectionTicket) {
      guard ticket.isOpen else { return }
      ticket.isOpen = false
      openCount -= 1
      if let principal = ticket.principal {
        let count = (countsByPrincipal[principal] ?? 1) - 1
        countsByPrincipal[principal] = count > 0 ? count : nil
      }
      uncountGroup(of: ticket)
      forget(ticket)
    }
  }

  public let perAddressMax: Int
  private let asksForCredentials: Bool
  private let isExempt: @Sendable (_ host: String) -> Bool
  private let state: Mutex<State>

  /// - Parameters:
  ///   - perAddressMax: The maximum number of connections per address group; see `AddressGroup`.
  ///   - asksForCredentials: Whether peers can present a credential; if not, no peer is a stranger.
  ///   - isExempt: Whether an address belongs to a trusted proxy, whose connections carry many callers. Its connections
  ///     count in total only.
  public init(
    connectionsMax: Int, perAddressMax: Int, asksForCredentials: Bool = true,
    isExempt: @escaping @Sendable (_ host: String) -> Bool = { _ in false }
  ) {
    self.perAddressMax = perAddressMax
    self.asksForCredentials = asksForCredentials
    self.isExempt = isExempt
    state = Mutex(State(connectionsMax: connectionsMax))
  }

  /// The total limit. A change applies to new connections.
  public var connectionsMax: Int {
    get { state.withLock { $0.connectionsMax } }
    set { state.withLock { $0.connectionsMax = newValue } }
  }

  /// The number of open connections.
  public var openCount: Int { state.withLock { $0.openCount } }
  /// The number of address groups with a connection.
  public var groupCount: Int { state.withLock { $0.countsByGroup.count } }

  /// Counts a new connection.
  ///
  /// - Parameters:
  ///   - host: The peer's address; connections without one, as over other transports, count in total only.
  ///   - giveWay: Closes the connection to make room for another one. Called at most once, on any thread.
  /// - Throws: `Refusal` if the connection must be closed; it is then not counted.
  public func open(host: String, giveWay: @escaping @Sendable () -> Void) throws(Refusal) -> ConnectionTicket {
    let isExempt = host.isEmpty || isExempt(host)
    let group = isExempt ? nil : AddressGroup.name(of: host)
    let ticket = ConnectionTicket(limiter: self, group: group, giveWay: giveWay)
    let evicted = try state.withLock { state throws(Refusal) -> ConnectionTicket? in
      let count = group.map { (state.countsByGroup[$0] ?? 0) + 1 } ?? 0
      guard count <= perAddressMax else { throw .addressGroup }
      var evicted: ConnectionTicket?
      if state.openCount >= state.connectionsMax {
        evicted = state.takeIdleStranger()
        guard let evicted else { throw .process }
        state.close(evicted)
      }
      state.openCount += 1
      if let group { state.countsByGroup[group] = (state.countsByGroup[group] ?? 0) + 1 }
      if asksForCredentials, !isExempt { state.enqueue(ticket) }
      return evicted
    }
    evicted?.giveWay()
    return ticket
  }

  fileprivate func identified(_ ticket: ConnectionTicket, as principal: String?) {
    state.withLock { state in
      guard ticket.isOpen else { return }
      if let principal, ticket.principal == nil {
        let count = (state.countsByPrincipal[principal] ?? 0) + 1
        // From many addresses, one principal could hold all connections. Those beyond its share stay evictable.
        guard count <= perAddressMax else { return }
        state.countsByPrincipal[principal] = count
        ticket.principal = principal
      }
      state.forget(ticket)
    }
  }

  fileprivate func trusted(_ ticket: ConnectionTicket) {
    state.withLock { state in
      state.forget(ticket)
      state.uncountGroup(of: ticket)
    }
  }

  fileprivate func close(_ ticket: ConnectionTicket) { state.withLock { $0.close(ticket) } }
}

/// A connection that counts towards its listener's limits. Safe from any thread.
public final class ConnectionTicket: @unchecked Sendable {
  private let limiter: ConnectionLimiter
  fileprivate let giveWay: @Sendable () -> Void
  private let isActive = Atomic<Bool>(false)

  // Guarded by the limiter's lock.
  fileprivate var group: String?
  fileprivate var principal: String?
  fileprivate var place: UInt64?
  fileprivate var isOpen = true

  fileprivate init(limiter: ConnectionLimiter, group: String?, giveWay: @escaping @Sendable () -> Void) {
    self.limiter = limiter
    self.group = group
    self.giveWay = giveWay
  }

  /// Records that the stranger has made a call.
  public func madeCall() { isActive.store(true, ordering: .relaxed) }
  fileprivate func takeActivity() -> Bool { isActive.exchange(false, ordering: .relaxed) }

  /// Records that the peer has presented a credential. The connection is no longer evicted, unless the principal has
  /// more than `perAddressMax` of them.
  ///
  /// - Parameter principal: The principal's name; nil if the credential names no principal.
  public func identified(as principal: String?) { limiter.identified(self, as: principal) }
  /// Records that the peer is a process of the suite; its connections do not count towards its address group.
  public func trusted() { limiter.trusted(self) }
  /// Stops counting the connection. Further calls have no effect.
  public func close() { limiter.close(self) }
}

extension ConnectionLimiter.Refusal {
  /// Returns the error to send to the refused connection before it is closed.
  public func rpcError(_ limiter: ConnectionLimiter) -> RPCError {
    let message =
      switch self {
      case .addressGroup:
        "the address has reached its limit of \(limiter.perAddressMax) connections: use fewer, or raise max-connections-per-address"
      case .process: "the server has reached its limit of \(limiter.connectionsMax) connections"
      }
    return RPCError(
      .resourceExhausted, message, reason: "TOO_MANY_CONNECTIONS", retryAfterMs: 1000, processed: false)
  }
}
