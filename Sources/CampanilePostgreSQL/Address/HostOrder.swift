import Synchronization

/// The order in which the hosts of an address are tried: those that did not respond lately come last.
///
/// Each of them would delay a connection by `connect_timeout`, although another host accepts writes.
final class HostOrder: Sendable {
  /// Time for which a host that did not respond comes last.
  private static let silence = Duration.seconds(30)
  /// A host that delays a connection by this time has not responded. A refusal takes milliseconds.
  private static let delayMin = Duration.seconds(1)

  private let silentUntil = Mutex<[Int: ContinuousClock.Instant]>([:])

  /// Returns the positions of an address's hosts in the order to try them.
  func positions(_ count: Int, now: ContinuousClock.Instant = .now) -> [Int] {
    let silent = silentUntil.withLock { $0.filter { $0.value > now } }
    return (0..<count).filter { silent[$0] == nil } + (0..<count).filter { silent[$0] != nil }
  }

  /// Records an attempt to connect.
  ///
  /// - Parameters:
  ///   - tried: The positions of the hosts before the one that accepted the connection.
  ///   - accepted: The position of that host; nil if none did.
  func record(tried: [Int], accepted: Int?, took: Duration, now: ContinuousClock.Instant = .now) {
    silentUntil.withLock { silent in
      if let accepted { silent[accepted] = nil }
      // One of them was silent. The others are tried last as well, which costs nothing.
      guard took >= Self.delayMin else { return }
      for position in tried { silent[position] = now + Self.silence }
    }
  }

  /// Records the hosts that libpq's messages name as silent.
  func record(messages: [String], _ hosts: [(name: String, port: String)], now: ContinuousClock.Instant = .now) {
    let causes = ["timeout expired", "Connection timed out", "No route to host"]
    let silent = hosts.indices.filter { position in
      messages.contains { message in
        message.contains("\"\(hosts[position].name)\"") && message.contains("port \(hosts[position].port) ")
          && causes.contains(where: message.contains)
      }
    }
    silentUntil.withLock { until in
      for position in silent { until[position] = now + Self.silence }
    }
  }
}
