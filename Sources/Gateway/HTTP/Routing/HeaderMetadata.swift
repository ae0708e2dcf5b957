import CampanileRPC

/// What of a request's headers becomes the call's metadata.
enum HeaderMetadata {
  /// Headers that speak of the request itself, or of hops on its way, and mean nothing to a service.
  private static let left: Set<String> = [
    "accept", "accept-charset", "accept-encoding", "accept-language", "age", "alt-used", "cache-control", "connection",
    "cookie", "date", "dnt", "expect", "forwarded", "from", "host", "idempotency-key", "keep-alive", "last-event-id",
    "max-forwards", "origin", "pragma", "priority", "range", "referer", "te", "trailer", "transfer-encoding", "upgrade",
    "upgrade-insecure-requests", "user-agent", "via",
  ]
  private static let leftPrefixes = [
    "access-control-", "cf-", "connect-", "content-", "if-", "proxy-", "sec-", "x-forwarded-", "x-real-",
  ]

  /// - Parameter headers: as they came, names in any case.
  ///
  /// Throws INVALID_ARGUMENT `METADATA_RESERVED` for a header that only the suite itself sets, `METADATA_KEY_INVALID` for a name
  /// and `METADATA_VALUE_INVALID` for a value that a call cannot carry, `METADATA_TOO_LARGE` for too many.
  static func read(_ headers: some Sequence<(name: String, value: String)>) throws(RPCError) -> Metadata {
    var metadata = Metadata()
    for (name, value) in headers {
      let key = name.lowercased()
      if key.hasPrefix(Metadata.reservedPrefix) {
        throw fault("\(key) is set by the gateway alone", "METADATA_RESERVED")
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
