import CampanileBase
import CampanileRPC

/// Selects the request headers that become the call's metadata.
enum HeaderMetadata {
  /// Headers about the request itself or its hops, which mean nothing to a service.
  private static let left: Set<String> = [
    "accept", "accept-charset", "accept-encoding", "accept-language", "age", "alt-used", "cache-control", "connection",
    "cookie", "date", "dnt", "expect", "forwarded", "from", "host", "keep-alive", "last-event-id",
    "max-forwards", "origin", "pragma", "priority", "range", "referer", "te", "trailer", "transfer-encoding", "upgrade",
    "upgrade-insecure-requests", "user-agent", "via", ConsoleCookie.header,
  ]
  private static let leftPrefixes = [
    "access-control-", "cf-", "connect-", "content-", "if-", "proxy-", "sec-", "x-forwarded-", "x-real-",
  ]

  /// Converts request headers to metadata.
  ///
  /// - Parameter headers: The received headers; names may have any case.
  /// - Throws: INVALID_ARGUMENT `METADATA_RESERVED` for a header that only the suite may set. `METADATA_KEY_INVALID` or
  ///   `METADATA_VALUE_INVALID` for a name or value that a call cannot carry, `METADATA_TOO_LARGE` for too many.
  static func read(_ headers: some Sequence<(name: String, value: String)>) throws(RPCError) -> Metadata {
    var metadata = Metadata()
    for (name, value) in headers {
      let key = name.lowercased()
      if key.hasPrefix(Metadata.reservedPrefix) {
        throw fault("only the gateway may set \(key)", "METADATA_RESERVED")
      }
      if left.contains(key) || leftPrefixes.contains(where: key.hasPrefix) { continue }
      // A field value may hold spaces and tabs, never other control characters (RFC 9110 section 5.5).
      guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
        throw fault("the value of \(key.debugDescription) has control characters", "METADATA_VALUE_INVALID")
      }
      metadata.add(value, for: key)
    }
    if var fault = metadata.fault() {
      fault.processed = false
      throw fault
    }
    return metadata
  }

  private static func fault(_ message: String, _ reason: String) -> RPCError {
    var error = RPCError.invalidField("metadata", message, reason: reason)
    error.processed = false
    return error
  }
}
