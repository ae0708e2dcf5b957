import CampanileBase
public import CampanileRPC

/// The server and method that a load test calls. Nothing is sent to any other server.
public struct LoadTarget: Sendable {
  public enum Transport: Sendable {
    /// The suite's RPC protocol.
    case rpc(ClientConfiguration)
    /// The Connect protocol over HTTP/1.1; unary methods only.
    case http(HTTPTarget)
  }

  public var transport: Transport
  /// The full method name, `package.Service/Method`.
  public var method: String
  public var clientStreaming: Bool
  public var serverStreaming: Bool
  public var metadata: Metadata

  public init(
    transport: Transport, method: String, clientStreaming: Bool = false, serverStreaming: Bool = false,
    metadata: Metadata = [:]
  ) {
    self.transport = transport
    self.method = method
    self.clientStreaming = clientStreaming
    self.serverStreaming = serverStreaming
    self.metadata = metadata
  }

  /// Whether the method is client-streaming, server-streaming or both.
  public var isStreaming: Bool { clientStreaming || serverStreaming }

  var kind: CallKind {
    switch (clientStreaming, serverStreaming) {
    case (false, false): .unary
    case (true, false): .clientStreaming
    case (false, true): .serverStreaming
    case (true, true): .bidirectional
    }
  }

  /// The addresses as `host:port`, or the URL for HTTP.
  public var description: String {
    switch transport {
    case .rpc(let configuration): configuration.addresses.map(\.description).joined(separator: ", ")
    case .http(let target): target.description
    }
  }

  /// Whether all addresses are on this machine.
  public var isLoopback: Bool {
    let hosts: [String] =
      switch transport {
      case .rpc(let configuration): configuration.addresses.map(\.host)
      case .http(let target): [target.host]
      }
    return hosts.allSatisfy(HostPort.isLoopback)
  }
}

/// The address and credentials of an HTTP server.
public struct HTTPTarget: Sendable, Hashable, CustomStringConvertible {
  public var host: String
  public var port: Int
  /// Prefix of `/package.Service/Method`: empty, or begins with a slash.
  public var pathPrefix: String
  /// The bearer token.
  public var token: String?
  /// The TLS configuration; nil for plaintext.
  public var tls: ClientTLS?

  public init(host: String, port: Int, pathPrefix: String = "", token: String? = nil, tls: ClientTLS? = nil) {
    self.host = host
    self.port = port
    self.pathPrefix = pathPrefix
    self.token = token
    self.tls = tls
  }

  /// Parses `http://host[:port][/prefix]` or `https://host[:port][/prefix]`.
  ///
  /// - Parameter tls: TLS configuration for `https` (default: the system's CA certificates).
  /// - Throws: `LOAD_PLAN_INVALID` for any other URL, and for `http` with `tls`.
  public init(url: String, token: String? = nil, tls: ClientTLS? = nil) throws(LoadError) {
    func fail(_ reason: String) -> LoadError { LoadError(.planInvalid, field: "--http", reason: reason) }
    guard let scheme = ["http://", "https://"].first(where: { url.hasPrefix($0) }) else {
      throw fail("\(url.debugDescription) begins with neither http:// nor https://")
    }
    let isSecure = scheme == "https://"
    guard isSecure || tls == nil else { throw fail("TLS options need an address that begins with https://") }
    let rest = url.dropFirst(scheme.count)
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    var prefix = String(rest[slash...])
    while prefix.hasSuffix("/") { prefix.removeLast() }
    let authority = String(rest[..<slash])
    let hasPort = authority.last != "]" && authority.contains(":")
    guard let address = HostPort(hasPort ? authority : authority + (isSecure ? ":443" : ":80"))
    else {
      throw fail("\(authority.debugDescription) is not host:port")
    }
    guard prefix.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw fail("the path has bytes that must be encoded")
    }
    self.init(
      host: address.host, port: address.port, pathPrefix: prefix, token: token, tls: isSecure ? tls ?? ClientTLS() : nil
    )
  }

  public var description: String {
    "\(tls == nil ? "http" : "https")://\(HostPort(host: host, port: port))\(pathPrefix)"
  }
}
