public import CampanileRPC

extension CallOptions {
  /// Options of a call that the service `name` makes to another one with the internal token. The token makes the caller
  /// believed; who it is the call must say, or methods for services of the suite answer UNAUTHENTICATED.
  public static func from(service name: String, timeoutMs: Int64) -> CallOptions {
    CallOptions(timeoutMs: timeoutMs, metadata: [Principal.metadataKey: "service/\(name)"])
  }
}
