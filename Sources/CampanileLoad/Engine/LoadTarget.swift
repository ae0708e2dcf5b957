public import CampanileRPC

/// Whom a load test calls. Nothing is ever sent to anyone else.
public struct LoadTarget: Sendable {
  public enum Face: Sendable {
    /// The suite's own wire.
    case rpc(ClientConfiguration)
    /// The Connect protocol over HTTP/1.1; unary methods only.
    case http(HTTPTarget)
  }

  public var face: Face
  /// `package.Service/Method`.
  public var method: String
  public var clientStreaming: Bool
  public var serverStreaming: Bool
  public var metadata: Metadata

  public init(
    face: Face, method: String, clientStreaming: Bool = false, serverStreaming: Bool = false, metadata: Metadata = [:]
  ) {
    self.face = face
    self.method = method
    self.clientStreaming = clientStreaming
    self.serverStreaming = serverStreaming
    self.metadata = metadata
  }

  /// Whether its calls have more than one message of a side.
  public var isStreaming: Bool { clientStreaming || serverStreaming }

  var kind: CallKind {
    switch (clientStreaming, serverStreaming) {
    case (false, false): .unary
    case (true, false): .clientStreaming
    case (false, true): .serverStreaming
    case (true, true): .bidirectional
    }
  }

  /// `host:port`, and a scheme where it is HTTP.
  public var description: String {
    switch face {
    case .rpc(let configuration): configuration.addresses.map(\.description).joined(separator: ", ")
    case .http(let target): target.description
    }
  }

  /// Whether what is sent cannot leave this machine.
  public var isLoopback: Bool {
    let hosts: [String] =
      switch face {
      case .rpc(let configuration): configuration.addresses.map(\.host)
      case .http(let target): [target.host]
      }
    return hosts.allSatisfy(ClientConfiguration.Address.isLoopback)
  }
}

/// Where a server speaks HTTP.
public struct HTTPTarget: Sendable, Hashable, CustomStringConvertible {
  public var host: String
  public var port: Int
  /// Stands before `/package.Service/Method`: empty, or begins with a slash.
  public var pathPrefix: String
  /// Sent as a bearer token.
  public var token: String?
  /// How the server proves its name; `nil` for HTTP without TLS.
  public var tls: ClientTLS?

  public init(host: String, port: Int, pathPrefix: String = "", token: String? = nil, tls: ClientTLS? = nil) {
    self.host = host
    self.port = port
    self.pathPrefix = pathPrefix
    self.token = token
    self.tls = tls
  }

  /// Reads `http://host[:port][/prefix]` and the same with `https`, which speaks TLS as `tls` says, or believes the system's
  /// authorities. Throws `LOAD_PLAN_INVALID`, for `http` with `tls` too.
  public init(url: String, token: String? = nil, tls: ClientTLS? = nil) throws(LoadError) {
    func fail(_ reason: String) -> LoadError { LoadError(.planInvalid, field: "--http", reason: reason) }
    guard let scheme = ["http://", "https://"].first(where: { url.hasPrefix($0) }) else {
      throw fail("\(url.debugDescription) begins with neither http:// nor https://")
    }
    let isSecure = scheme == "https://"
    guard isSecure || tls == nil else { throw fail("TLS is for an address that begins with https://") }
    let rest = url.dropFirst(scheme.count)
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    var prefix = String(rest[slash...])
    while prefix.hasSuffix("/") { prefix.removeLast() }
    let authority = String(rest[..<slash])
    let hasPort = authority.last != "]" && authority.contains(":")
    guard let address = ClientConfiguration.Address(hasPort ? authority : authority + (isSecure ? ":443" : ":80"))
    else {
      throw fail("\(authority.debugDescription) is no host:port")
    }
    guard prefix.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw fail("the path has bytes that must be encoded")
    }
    self.init(
      host: address.host, port: address.port, pathPrefix: prefix, token: token, tls: isSecure ? tls ?? ClientTLS() : nil
    )
  }

  public var description: String {
    "\(tls == nil ? "http" : "https")://\(ClientConfiguration.Address(host: host, port: port))\(pathPrefix)"
  }
}
