/// An open call, as JSON of the operator's pages.
struct OpenCallRecord: Sendable, Hashable, Encodable {
  var method: String
  var isStream: Bool
  /// For example `user/ada`; `operator` on trusted connections, `anonymous` without a credential.
  var principal: String
  /// The caller's address.
  var remoteAddress: String
  var service: String
  /// The backend's address.
  var address: String
  var ageMs: Int64
  /// Bytes of the call's stream that wait for the backend.
  var waitingBytes: Int
}

struct RouteDescription: Sendable, Hashable, Encodable {
  var method: String
  /// The backend's name; nil for the gateway's own methods.
  var service: String?
  var kind: String
  /// `public`, or the required scope.
  var scope: String
  var isBulk: Bool
  /// `PER_SECOND:BURST` for all callers together.
  var rate: String?
}

struct ShareUsage: Sendable, Hashable, Encodable {
  var name: String
  var openCalls: Int
  var openStreams: Int
  /// Calls that the rate limit would admit now; nil if there is no limit.
  var remaining: Int?
}

struct LimitUsage: Sendable, Hashable, Encodable {
  /// The number of gateways on the database, among which the rates are divided.
  var gateways: Int
  var principalRate: String?
  var addressRate: String?
  var anonymousRate: String?
  var principalCallsMax: Int
  var principalStreamsMax: Int
  var backendCallsMax: Int
  var backendStreamsMax: Int
  var memoryBytesMax: Int?
  var residentBytes: Int?
  /// `none`, `tight` or `full`.
  var memoryPressure: String
  /// The principals and addresses with the most open calls; of equal ones, those with the fewest remaining calls.
  var principals: [ShareUsage]
  var addresses: [ShareUsage]
}
