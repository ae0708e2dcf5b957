import CampanileStore
import Foundation

/// The row with which a gateway shows the others on its database that it is alive.
///
/// A row is valid for 10 s by the clock of the server, and renewed every 2 s. The number of valid rows divides the
/// rates of callers, and claims of a gateway without a valid row are free.
final class GatewayMembership: Sendable {
  static let lengthMs: Int64 = 10_000
  static let pauseMs: Int64 = 2_000
  /// The time for which an ended row remains, so that a gateway that was suspended finds its claims.
  private static let retentionMs: Int64 = 60_000
  static let nowMs = LeaseStatements.serverNowMs

  private static let renewSQL = """
    INSERT INTO gateway_members (name, until_ms) VALUES ($1, \(nowMs) + $2)
    ON CONFLICT (name) DO UPDATE SET until_ms = excluded.until_ms
    """
  static let countSQL = "SELECT count(*) FROM gateway_members WHERE until_ms >= \(nowMs)"
  private static let purgeSQL = "DELETE FROM gateway_members WHERE until_ms < \(nowMs) - $1"
  private static let orphansSQL = """
    DELETE FROM reply_claims WHERE owner NOT IN (SELECT name FROM gateway_members)
    """

  /// Unique to this process.
  let name = "g_\(UUID().uuidString)"
  private let store: Store
  private let peers: GatewayPeers

  init(store: Store, peers: GatewayPeers) {
    self.store = store
    self.peers = peers
  }

  /// Renews the row, or creates it.
  ///
  /// - Parameter isFirst: Whether the other gateways must hear of it, because their number changes.
  /// - Returns: The number of gateways that are alive, including this one.
  func renew(isFirst: Bool = false) async throws -> Int {
    let (name, peers) = (name, peers)
    return try await store.write { transaction in
      try transaction.execute(Self.renewSQL, [.text(name), .integer(Self.lengthMs)])
      if isFirst { peers.changed(GatewayPeers.members) }
      return max(1, Int(try transaction.queryOne(Self.countSQL) { try $0.integer(0) } ?? 1))
    }
  }

  /// Returns the number of gateways that are alive.
  func count() async throws -> Int {
    max(1, Int(try await store.readSingle { try $0.queryOne(Self.countSQL) { try $0.integer(0) } } ?? 1))
  }

  /// Deletes the rows of gateways that have ended long ago, and their claims.
  func purge() async throws {
    try await store.write { transaction in
      try transaction.execute(Self.purgeSQL, [.integer(Self.retentionMs)])
      try transaction.execute(Self.orphansSQL)
    }
  }

  /// Deletes the row and the claims of this gateway. Call it when no call is in flight.
  func leave() async throws {
    let (name, peers) = (name, peers)
    try await store.write { transaction in
      try transaction.execute("DELETE FROM gateway_members WHERE name = $1", [.text(name)])
      try transaction.execute("DELETE FROM reply_claims WHERE owner = $1", [.text(name)])
      peers.changed(GatewayPeers.members)
    }
  }
}
