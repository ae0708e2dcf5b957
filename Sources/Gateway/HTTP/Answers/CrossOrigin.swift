/// Which web pages' scripts may call (the Fetch standard's CORS protocol).
public struct CrossOriginPolicy: Sendable, Hashable {
  /// Origins such as `https://app.example`; `*` stands for all. Empty answers no page but the gateway's own.
  public var origins: [String]
  /// How long a browser may remember the answer to a preflight.
  public var maxAgeS = 7200

  public init(origins: [String] = []) { self.origins = origins }

  static let methods = "GET, POST, PUT, PATCH, DELETE"
  static let exposedHeaders = "ETag, Retry-After, Content-Encoding, Connect-Protocol-Version"

  /// The value of `Access-Control-Allow-Origin`; `nil` when the origin may not read the answer. Credentials are never allowed:
  /// keys travel in `Authorization`, which scripts set themselves.
  func allowedOrigin(_ origin: String?) -> String? {
    guard let origin, !origins.isEmpty, origin.utf8.count <= 256 else { return nil }
    if origins.contains("*") { return "*" }
    return origins.contains(origin) ? origin : nil
  }

  /// The headers of the answer to a request from `origin`.
  func headers(for origin: String?) -> [(String, String)] {
    guard !origins.isEmpty else { return [] }
    // Caches must keep answers to other origins apart, also those that were not allowed.
    let vary = origins.contains("*") ? [] : [("Vary", "Origin")]
    guard let allowed = allowedOrigin(origin) else { return vary }
    return vary + [
      ("Access-Control-Allow-Origin", allowed), ("Access-Control-Expose-Headers", Self.exposedHeaders),
    ]
  }

  /// The same for a preflight, which asks for a method and headers. `nil` when it is to be refused.
  func preflight(origin: String?, method: String?, requestedHeaders: String?) -> [(String, String)]? {
    guard let allowed = allowedOrigin(origin), let method, Self.methods.split(separator: ", ").contains(method[...])
    else { return nil }
    var headers = [
      ("Access-Control-Allow-Origin", allowed), ("Access-Control-Allow-Methods", Self.methods),
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
