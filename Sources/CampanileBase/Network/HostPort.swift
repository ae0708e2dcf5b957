/// A host and a port, as in `localhost:7400` or `[::1]:7400`.
public struct HostPort: Sendable, Hashable, CustomStringConvertible {
  /// A name, which is resolved at every connection attempt, or an IP address.
  public var host: String
  public var port: Int

  public init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  /// The reason why a text is not a host and a port.
  public struct ParseError: Error, Sendable, Hashable {
    enum Code: Sendable, Hashable { case malformed, needsBrackets }
    let code: Code

    /// There is no host, or no port from 1 to 65535.
    public static let malformed = ParseError(code: .malformed)
    /// The host contains a colon, as an IPv6 address does, but is not enclosed in brackets.
    public static let needsBrackets = ParseError(code: .needsBrackets)
  }

  /// Parses `HOST:PORT`, with an IPv6 address in brackets.
  ///
  /// - Parameter defaultHost: The host of `:PORT`; nil if the host must be given.
  public init(parsing text: some StringProtocol, defaultHost: String? = nil) throws(ParseError) {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (1...65_535).contains(port)
    else { throw .malformed }
    var host = text[..<colon]
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    if isBracketed { host = host.dropFirst().dropLast() }
    guard isBracketed || !host.contains(":") else { throw .needsBrackets }
    guard let given = host.isEmpty ? defaultHost : String(host) else { throw .malformed }
    self.init(host: given, port: port)
  }

  /// Parses `HOST:PORT`, with an IPv6 address in brackets; nil for any other text.
  public init?(_ text: some StringProtocol) {
    guard let parsed = try? HostPort(parsing: text) else { return nil }
    self = parsed
  }

  /// Whether `host` is this machine by its form alone: 127.0.0.0/8, ::1 or `localhost`. No name is resolved.
  public static func isLoopback(_ host: String) -> Bool {
    if host == "localhost" || host == "::1" || host == "[::1]" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127"
      && parts.allSatisfy { UInt8($0) != nil && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
  }

  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
