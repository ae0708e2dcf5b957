public import CampanileRPC

extension CallOptions {
  /// Returns the options of a call that the service `name` makes to another one with the internal token.
  ///
  /// The token makes the connection trusted. Methods for services of the suite also need the caller's name and the
  /// scope, because no scope is implied.
  ///
  /// - Parameter scope: The narrowest scope of the method, such as `activities:operate`.
  public static func from(service name: String, scope: String, timeoutMs: Int64? = nil) -> CallOptions {
    CallOptions(
      timeoutMs: timeoutMs,
      metadata: [Principal.metadataKey: "service/\(name)", Principal.scopesMetadataKey: scope])
  }
}
