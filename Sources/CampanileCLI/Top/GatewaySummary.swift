/// The response of a gateway's `/admin/summary`: counts since its start.
public struct GatewaySummary: Sendable, Hashable, Codable {
  public struct Method: Sendable, Hashable, Codable {
    public var method: String
    public var started: Int
    public var succeeded: Int
    /// Failed calls by name of the status code.
    public var failures: [String: Int]
    /// Histogram buckets, each `[lowerUs, upperUs, count]`.
    public var latency: [[Int64]]

    public init(
      method: String, started: Int, succeeded: Int, failures: [String: Int] = [:], latency: [[Int64]] = []
    ) {
      (self.method, self.started, self.succeeded) = (method, started, succeeded)
      (self.failures, self.latency) = (failures, latency)
    }

    var failed: Int { failures.values.reduce(0, +) }
  }

  public struct Backend: Sendable, Hashable, Codable {
    public struct Address: Sendable, Hashable, Codable {
      public var address: String
      public var health: String
      public var isConnected: Bool
      public var ejectedForMs: Int64?
      public var isLeaving: Bool
      public var openCalls: Int
    }
    public var name: String
    public var isServing: Bool
    public var breaker: String
    public var openCalls: Int
    public var openStreams: Int
    public var addresses: [Address]
  }

  public var uptimeMs: Int64
  public var residentBytes: Int?
  public var openCalls: Int
  public var openStreams: Int
  public var backends: [Backend]
  public var methods: [Method]

  public init(
    uptimeMs: Int64, residentBytes: Int? = nil, openCalls: Int = 0, openStreams: Int = 0, backends: [Backend] = [],
    methods: [Method] = []
  ) {
    (self.uptimeMs, self.residentBytes, self.openCalls) = (uptimeMs, residentBytes, openCalls)
    (self.openStreams, self.backends, self.methods) = (openStreams, backends, methods)
  }
}
