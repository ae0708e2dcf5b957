/// The web origins whose scripts may call the gateway (the Fetch standard's CORS protocol).
public struct CrossOriginPolicy: Sendable, Hashable {
  /// Allowed origins, such as `https://app.example`; `*` allows all. If empty, only pages of the gateway's own origin
  /// may call.
  public var origins: [String]
  /// Time for which a browser may cache the response to a preflight.
  public var maxAgeS = 7200

  public init(origins: [String] = []) { self.origins = origins }

  static let exposedHeaders = "ETag, Retry-After, Content-Encoding, Connect-Protocol-Version"

  /// Returns the value of `Access-Control-Allow-Origin`; nil if the origin may not read the response.
  ///
  /// Credentials are never allowed: scripts set keys in `Authorization` themselves.
  func allowedOrigin(_ origin: String?) -> String? {
    guard let origin, !origins.isEmpty, origin.utf8.count <= 256 else { return nil }
    if origins.contains("*") { return "*" }
    return origins.contains(origin) ? origin : nil
  }

  /// Returns the CORS headers of a response to `origin`.
  func headers(for origin: String?) -> [(String, String)] {
    guard !origins.isEmpty else { return [] }
    // Caches must not reuse a response for another origin, even if it has no allowed origin.
    let vary = origins.contains("*") ? [] : [("Vary", "Origin")]
    guard let allowed = allowedOrigin(origin) else { return vary }
    return vary + [
      ("Access-Control-Allow-Origin", allowed), ("Access-Control-Expose-Headers", Self.exposedHeaders),
    ]
  }

  /// Returns the CORS headers of a response to a preflight; nil if it is refused.
  ///
  /// - Parameter methods: The methods of the path.
  func preflight(
    origin: String?, method: String, of methods: [String], requestedHeaders: String?
  ) -> [(String, String)]? {
    guard let allowed = allowedOrigin(origin), methods.contains(method) else { return nil }
    var headers = [
      ("Access-Control-Allow-Origin", allowed), ("Access-Control-Allow-Methods", methods.joined(separator: ", ")),
      ("Access-Control-Max-Age", String(maxAgeS)), ("Vary", "Origin, Access-Control-Request-Headers"),
    ]
    if let requestedHeaders {
      let names = requestedHeaders.split(separator: ",").map { String($0).trimmingSpaces.lowercased() }
      guard names.count <= 64, names.allSatisfy(Self.isAllowed) else { return nil }
      headers.append(("Access-Control-Allow-Headers", names.joined(separator: ", ")))
    }
    return headers
  }

  private static func isAllowed(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= 128 && !name.hasPrefix("campanile-")
      && name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") }
  }
}
