/// The response of a gateway's `/admin/summary`, which `campanile top` reads: counts since the gateway's start.
package struct GatewaySummary: Sendable, Hashable, Codable {
  package struct Method: Sendable, Hashable, Codable {
    package var method: String
    package var started: Int
    package var succeeded: Int
    /// Failed calls by name of the status code.
    package var failures: [String: Int]
    /// `[lowerUs, upperUs, count]` of each non-empty bucket, for successes and failures together.
    package var latency: [[Int64]]

    package init(
      method: String, started: Int, succeeded: Int, failures: [String: Int] = [:], latency: [[Int64]] = []
    ) {
      (self.method, self.started, self.succeeded) = (method, started, succeeded)
      (self.failures, self.latency) = (failures, latency)
    }

    package var failed: Int { failures.values.reduce(0, +) }
  }

  /// Milliseconds since the gateway was created.
  package var uptimeMs: Int64
  package var residentBytes: Int?
  package var openCalls: Int
  package var openStreams: Int
  package var backends: [BackendStatus]
  /// The methods that have been called.
  package var methods: [Method]

  package init(
    uptimeMs: Int64, residentBytes: Int? = nil, openCalls: Int = 0, openStreams: Int = 0,
    backends: [BackendStatus] = [], methods: [Method] = []
  ) {
    (self.uptimeMs, self.residentBytes, self.openCalls) = (uptimeMs, residentBytes, openCalls)
    (self.openStreams, self.backends, self.methods) = (openStreams, backends, methods)
  }
}

/// The state of a backend, as JSON of the operator's pages.
package struct BackendStatus: Sendable, Hashable, Codable {
  package var name: String
  package var isServing: Bool
  /// `closed`, `open` or `halfOpen`: the worst state of all event loops.
  package var breaker: String
  package var openCalls: Int
  package var openStreams: Int
  package var addresses: [AddressStatus]

  package init(
    name: String, isServing: Bool, breaker: String, openCalls: Int, openStreams: Int, addresses: [AddressStatus]
  ) {
    (self.name, self.isServing, self.breaker) = (name, isServing, breaker)
    (self.openCalls, self.openStreams, self.addresses) = (openCalls, openStreams, addresses)
  }
}

package struct AddressStatus: Sendable, Hashable, Codable {
  package var address: String
  /// `serving`, `notServing` or `unknown`: the server's last report; the best of all event loops.
  package var health: String
  package var isConnected: Bool
  /// The remaining time of its ejection as an outlier; nil if it is not ejected.
  package var ejectedForMs: Int64?
  /// Whether the address was removed from the backend and only finishes its calls.
  package var isLeaving: Bool
  package var openCalls: Int

  package init(
    address: String, health: String, isConnected: Bool, ejectedForMs: Int64?, isLeaving: Bool, openCalls: Int
  ) {
    (self.address, self.health, self.isConnected) = (address, health, isConnected)
    (self.ejectedForMs, self.isLeaving, self.openCalls) = (ejectedForMs, isLeaving, openCalls)
  }
}
