/// The status of a service, with the names and numbers of `grpc.health.v1.HealthCheckResponse.ServingStatus`.
public enum HealthStatus: Int32, Sendable, Hashable, CustomStringConvertible {
  case serving = 1
  case notServing = 2
  /// The server has no such service. Only watches report this status; a check fails with NOT_FOUND.
  case serviceUnknown = 3

  /// The proto's enum name.
  public var description: String {
    switch self {
    case .serving: "SERVING"
    case .notServing: "NOT_SERVING"
    case .serviceUnknown: "SERVICE_UNKNOWN"
    }
  }
}
