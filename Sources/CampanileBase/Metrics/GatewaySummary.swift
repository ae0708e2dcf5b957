/// The response of a gateway's `/admin/summary`, which `campanile top` reads: counts since the gateway's start.
public struct GatewaySummary: Sendable, Hashable, Codable {
  public struct Method: Sendable, Hashable, Codable {
    public var method: String
    public var started: Int
    public var succeeded: Int
    /// Failed calls by name of the status code.
    public var failures: [String: Int]
    /// `[lowerUs, upperUs, count]` of each non-empty bucket, for successes and failures together.
    public var latency: [[Int64]]

    public init(
      method: String, started: Int, succeeded: Int, failures: [String: Int] = [:], latency: [[Int64]] = []
    ) {
      (self.method, self.started, self.succeeded) = (method, started, succeeded)
      (self.failures, self.latency) = (failures, latency)
    }

    public var failed: Int { failures.values.reduce(0, +) }
  }

  /// Milliseconds since the gateway was created.
  public var uptimeMs: Int64
  public var residentBytes: Int?
  public var openCalls: Int
  public var openStreams: Int
  public var backends: [BackendStatus]
  /// The methods that have been called.
  public var methods: [Method]

  public init(
    uptimeMs: Int64, residentBytes: Int? = nil, openCalls: Int = 0, openStreams: Int = 0,
    backends: [BackendStatus] = [], methods: [Method] = []
  ) {
    (self.uptimeMs, self.residentBytes, self.openCalls) = (uptimeMs, residentBytes, openCalls)
    (self.openStreams, self.backends, self.methods) = (openStreams, backends, methods)
  }
}

/// The state of a backend, as JSON of the operator's pages.
public struct BackendStatus: Sendable, Hashable, Codable {
  public var name: String
  public var isServing: Bool
  /// `closed`, `open` or `halfOpen`: the worst state of all event loops.
  public var breaker: String
  public var openCalls: Int
  public var openStreams: Int
  public var addresses: [AddressStatus]

  public init(
    name: String, isServing: Bool, breaker: String, openCalls: Int, openStreams: Int, addresses: [AddressStatus]
  ) {
    (self.name, self.isServing, self.breaker) = (name, isServing, breaker)
    (self.openCalls, self.openStreams, self.addresses) = (openCalls, openStreams, addresses)
  }
}

public struct AddressStatus: Sendable, Hashable, Codable {
  public var address: String
  /// `serving`, `notServing` or `unknown`: the server's last report; the best of all event loops.
  public var health: String
  public var isConnected: Bool
  /// The remaining time of its ejection as an outlier; nil if it is not ejected.
  public var ejectedForMs: Int64?
  /// Whether the address was removed from the backend and only finishes its calls.
  public var isLeaving: Bool
  public var openCalls: Int

  public init(
    address: String, health: String, isConnected: Bool, ejectedForMs: Int64?, isLeaving: Bool, openCalls: Int
  ) {
    (self.address, self.health, self.isConnected) = (address, health, isConnected)
    (self.ejectedForMs, self.isLeaving, self.openCalls) = (ejectedForMs, isLeaving, openCalls)
  }
}
