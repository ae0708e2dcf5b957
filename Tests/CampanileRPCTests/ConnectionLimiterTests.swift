import CampanileBase
import Synchronization
import Testing

@testable import CampanileRPC

@Suite struct ConnectionLimiterTests {
  /// The names of evicted connections, in order.
  private final class Evictions: Sendable {
    private let names = Mutex<[String]>([])
    func note(_ name: String) { names.withLock { $0.append(name) } }
    var all: [String] { names.withLock { $0 } }
  }

  private let evictions = Evictions()

  private func open(
    _ limiter: ConnectionLimiter, _ host: String, _ name: String = ""
  ) throws(ConnectionLimiter.Refusal) -> ConnectionTicket {
    try limiter.open(host: host) { [evictions] in evictions.note(name) }
  }

  @Test func addressGroupsAreLimitedIndependently() throws {
    let limiter = ConnectionLimiter(connectionsMax: 100, perAddressMax: 2)
    let first = try open(limiter, "192.0.2.1")
    _ = try open(limiter, "::ffff:192.0.2.1")
    #expect(throws: ConnectionLimiter.Refusal.addressGroup) { try open(limiter, "192.0.2.1") }
    _ = try open(limiter, "192.0.2.2")
    _ = try open(limiter, "2001:db8::1")
    _ = try open(limiter, "2001:db8::2:1")
    #expect(throws: ConnectionLimiter.Refusal.addressGroup) { try open(limiter, "2001:db8:0:0:1::") }
    first.close()
    first.close()
    #expect(limiter.openCount == 4)
    _ = try open(limiter, "192.0.2.1")
    #expect(evictions.all.isEmpty)
  }

  @Test func trustedConnectionsAndProxiesDoNotCountForAddress() throws {
    let limiter = ConnectionLimiter(connectionsMax: 100, perAddressMax: 1) { $0 == "192.0.2.9" }
    for _ in 0..<10 { try open(limiter, "192.0.2.1").trusted() }
    for _ in 0..<10 { _ = try open(limiter, "192.0.2.9") }
    #expect(limiter.openCount == 20 && limiter.groupCount == 0)
    try open(limiter, "192.0.2.1").identified(as: nil)
    #expect(throws: ConnectionLimiter.Refusal.addressGroup) { try open(limiter, "192.0.2.1") }
  }

  @Test("a principal's connections beyond its share are evicted, whatever their addresses")
  func connectionsBeyondPrincipalsShareAreEvicted() throws {
    let limiter = ConnectionLimiter(connectionsMax: 4, perAddressMax: 2)
    let first = try open(limiter, "192.0.2.1", "first")
    first.identified(as: "user/a")
    for number in 2...4 { try open(limiter, "192.0.2.\(number)", "\(number)").identified(as: "user/a") }
    try open(limiter, "192.0.2.5", "other").identified(as: "user/b")
    #expect(evictions.all == ["3"])
    first.close()
    try open(limiter, "192.0.2.6", "again").identified(as: "user/a")
    _ = try open(limiter, "192.0.2.7", "stranger")
    #expect(evictions.all == ["3", "4"])
  }

  @Test func longestIdleStrangerIsEvicted() throws {
    let limiter = ConnectionLimiter(connectionsMax: 4, perAddressMax: 10)
    try open(limiter, "192.0.2.1", "known").identified(as: nil)
    let busy = try open(limiter, "192.0.2.1", "busy")
    let idle = try open(limiter, "192.0.2.1", "idle")
    _ = try open(limiter, "192.0.2.1", "younger")
    busy.madeCall()
    let admin = try open(limiter, "192.0.2.2", "admin")
    #expect(evictions.all == ["idle"])
    admin.identified(as: nil)
    // Closing an evicted connection has no effect.
    idle.close()
    #expect(limiter.openCount == 4)
    try open(limiter, "192.0.2.2", "second").identified(as: nil)
    try open(limiter, "192.0.2.2", "third").identified(as: nil)
    #expect(evictions.all == ["idle", "younger", "busy"])
    #expect(throws: ConnectionLimiter.Refusal.process) { try open(limiter, "192.0.2.3") }
    #expect(limiter.openCount == 4)
  }

  @Test func oldestStrangerIsEvictedIfAllAreActive() throws {
    let limiter = ConnectionLimiter(connectionsMax: 3, perAddressMax: 10)
    for name in ["a", "b", "c"] { try open(limiter, "192.0.2.1", name).madeCall() }
    _ = try open(limiter, "192.0.2.1", "d")
    #expect(evictions.all == ["a"] && limiter.openCount == 3)
  }

  @Test func nothingIsEvictedWithoutCredentials() throws {
    let limiter = ConnectionLimiter(connectionsMax: 1, perAddressMax: 10, asksForCredentials: false)
    _ = try open(limiter, "127.0.0.1")
    let refusal = try #require(throws: ConnectionLimiter.Refusal.self) { try open(limiter, "127.0.0.1") }
    #expect(refusal == .process && evictions.all.isEmpty)
    let error = refusal.rpcError(limiter)
    #expect(error.code == .resourceExhausted && error.reason == "TOO_MANY_CONNECTIONS" && error.processed == false)
  }
}
