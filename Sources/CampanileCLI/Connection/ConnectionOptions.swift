public import ArgumentParser
import CampanileBase
public import CampanileRPC
internal import Foundation

/// The server to call and the caller's credentials, shared by every command that calls a server.
///
/// Missing options are read from the environment: CAMPANILE_ADDRESS, CAMPANILE_KEY, CAMPANILE_KEY_FILE,
/// CAMPANILE_TLS_TRUST and CAMPANILE_TLS_SERVER_NAME. The TLS variables apply only to the server of CAMPANILE_ADDRESS.
public struct ConnectionOptions: ParsableArguments, Sendable {
  @Option(help: ArgumentHelp("Address of the server (default: from endpoints.json).", valueName: "host:port"))
  public var address: String?

  @Option(help: ArgumentHelp("Name in endpoints.json of the server to call.", valueName: "name"))
  public var target = "gateway"

  @Option(
    help: ArgumentHelp("Folder with endpoints.json (default: ./.campanile, then ~/.campanile).", valueName: "dir"))
  public var dataDir: String?

  @Option(help: ArgumentHelp("API key (default: $CAMPANILE_KEY).", valueName: "cmp_…"))
  public var key: String?

  @Option(help: ArgumentHelp("File with the API key.", valueName: "file"))
  public var keyFile: String?

  @Option(help: ArgumentHelp("File with the internal token, for direct calls to a service.", valueName: "file"))
  public var internalTokenFile: String?

  @Option(
    name: .customLong("as"),
    help: ArgumentHelp(
      "Principal to act as, user/ID or service/ID. Requires the internal token.",
      valueName: "principal"),
    transform: Self.principal)
  public var principal: Principal?

  @Flag(help: "Use TLS.")
  public var tls = false

  @Option(help: ArgumentHelp("CA certificates (PEM) for the server; implies --tls.", valueName: "file"))
  public var tlsTrust: String?

  @Option(
    help: ArgumentHelp("Name in the server's certificate (default: the host); implies --tls.", valueName: "name"))
  public var tlsServerName: String?

  @Option(help: ArgumentHelp("Timeout of the call: 250ms, 5s, 2m.", valueName: "duration"))
  public var timeout: Timeout?

  @Option(
    name: [.customShort("H"), .customLong("header")],
    help: ArgumentHelp("Metadata sent with the call; may be repeated.", valueName: "key:value"))
  public var headers: [MetadataArgument] = []

  public init() {}
}

/// A duration on the command line: a whole number with the unit `ms`, `s`, `m` or `h`; seconds without a unit.
public struct Timeout: ExpressibleByArgument, Sendable, Hashable {
  public var milliseconds: Int64

  /// Maximum duration: one day.
  public static let millisecondsMax: Int64 = 86_400_000

  public init?(argument: String) {
    let digits = argument.prefix { $0.isASCII && $0.isNumber }
    guard let number = Int64(digits) else { return nil }
    let factor: Int64
    switch argument.dropFirst(digits.count) {
    case "ms": factor = 1
    case "s", "": factor = 1000
    case "m": factor = 60_000
    case "h": factor = 3_600_000
    default: return nil
    }
    let (product, isOverflow) = number.multipliedReportingOverflow(by: factor)
    guard !isOverflow, (1...Self.millisecondsMax).contains(product) else { return nil }
    milliseconds = product
  }
}

/// A metadata entry on the command line, `key:value`.
public struct MetadataArgument: ExpressibleByArgument, Sendable, Hashable {
  public var key: String
  public var value: String

  /// Returns nil if there is no colon or the key is not a valid metadata key.
  public init?(argument: String) {
    guard let colon = argument.firstIndex(of: ":") else { return nil }
    key = argument[..<colon].trimmingCharacters(in: .whitespaces).lowercased()
    value = argument[argument.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    guard Metadata.isValidKey(key) else { return nil }
  }
}

/// A server's address and the caller's credential.
public struct Destination: Sendable, Hashable {
  public var host: String
  public var port: Int
  /// An API key, or the internal token.
  public var token: String?
  /// Whether `token` is the internal token. The client proves that it knows this token and never sends it.
  public var isInternalToken: Bool

  public init(host: String, port: Int, token: String? = nil, isInternalToken: Bool = false) {
    self.host = host
    self.port = port
    self.token = token
    self.isInternalToken = isInternalToken
  }

  /// Parses `host:port`, `[v6]:port` or `:port` (on 127.0.0.1).
  ///
  /// - Throws: `UsageError` for any other form.
  public init(address: String) throws(UsageError) {
    do throws(HostPort.ParseError) {
      let parsed = try HostPort(parsing: address, defaultHost: "127.0.0.1")
      self.init(host: parsed.host, port: parsed.port)
    } catch {
      let remedy = error == .needsBrackets ? "put an IPv6 address in brackets" : "give host:port"
      throw UsageError("\(address.debugDescription) is not an address: \(remedy)")
    }
  }
}

extension ConnectionOptions {
  /// Returns the server to call: from the options, else the environment, else `endpoints.json`.
  ///
  /// - Throws: `UsageError` if no address is configured or a file cannot be read.
  public func destination(
    environment: [String: String]? = nil
  ) throws(UsageError) -> Destination {
    let environment = environment ?? ProcessInfo.processInfo.environment
    let secret = try givenSecret(environment)
    if let address = address(environment) {
      var destination = try Destination(address: address)
      destination.token =
        if let secret { secret } else { try suitesToken(destination.host, destination.port, by: \.rpc, environment) }
      destination.isInternalToken = try isInternal(destination.token, isGiven: secret != nil, environment)
      return destination
    }
    let endpoints = try requiredEndpoints(environment, alternative: ", or give --address host:port")
    guard let service = endpoints.services[target] else {
      let names = endpoints.services.keys.sorted().joined(separator: ", ")
      throw UsageError("no \(target.debugDescription) in \(Endpoints.fileName): it has \(names)")
    }
    let presented = secret ?? token(for: service, in: endpoints)
    return Destination(
      host: "127.0.0.1", port: service.rpc, token: presented,
      isInternalToken: try isInternal(presented, isGiven: secret != nil, environment))
  }

  private func requiredEndpoints(
    _ environment: [String: String], alternative: String = ""
  ) throws(UsageError) -> Endpoints {
    if let found = try endpoints(environment) { return found }
    let searched = folders(environment).joined(separator: " or ")
    throw UsageError("no \(Endpoints.fileName) in \(searched): start `campanile up`\(alternative)")
  }

  /// Returns every process of the suite in `endpoints.json`, by name.
  ///
  /// - Throws: `UsageError` if there is no file, or it cannot be read.
  func allDestinations() throws(UsageError) -> [(name: String, destination: Destination)] {
    let environment = ProcessInfo.processInfo.environment
    let endpoints = try requiredEndpoints(environment)
    return endpoints.services.sorted { $0.key < $1.key }.map { name, service in
      let token = token(for: service, in: endpoints)
      return (
        name,
        Destination(
          host: "127.0.0.1", port: service.rpc, token: token, isInternalToken: token == endpoints.internalToken)
      )
    }
  }

  /// Returns whether `token` is the suite's internal token.
  private func isInternal(
    _ token: String?, isGiven: Bool, _ environment: [String: String]
  ) throws(UsageError) -> Bool {
    if isGiven { return internalTokenFile != nil }
    guard let token else { return false }
    return try endpoints(environment)?.internalToken == token
  }

  /// Returns the credential for an HTTP server: the given one, or the one in `endpoints.json` for the suite's servers.
  ///
  /// - Throws: `UsageError` if a file cannot be read.
  func httpToken(
    host: String, port: Int, environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(UsageError) -> String? {
    if let secret = try givenSecret(environment) { return secret }
    return try suitesToken(host, port, by: \.http, environment)
  }

  /// Returns the secret that the options or the environment give, or nil.
  private func givenSecret(_ environment: [String: String]) throws(UsageError) -> String? {
    if let internalTokenFile { return try Self.readSecret(internalTokenFile) }
    if let keyFile { return try Self.readSecret(keyFile) }
    if let key = key ?? environment["CAMPANILE_KEY"] { return key }
    return if let file = environment["CAMPANILE_KEY_FILE"] { try Self.readSecret(file) } else { nil }
  }

  /// Returns the credential in `endpoints.json` for a local address of the suite. No other server may receive it.
  private func suitesToken(
    _ host: String, _ port: Int, by portPath: KeyPath<Endpoints.Service, Int>, _ environment: [String: String]
  ) throws(UsageError) -> String? {
    guard host == "127.0.0.1" || host == "localhost", let endpoints = try endpoints(environment),
      let service = endpoints.services.values.first(where: { $0[keyPath: portPath] == port })
    else { return nil }
    return token(for: service, in: endpoints)
  }

  /// Returns the credential in `endpoints.json`. Acting as a principal requires the internal token.
  private func token(for service: Endpoints.Service, in endpoints: Endpoints) -> String? {
    principal == nil ? service.adminKey ?? endpoints.internalToken : endpoints.internalToken
  }

  func folders(_ environment: [String: String]) -> [String] {
    dataDir.map { [$0] } ?? Endpoints.defaultFolders(home: environment["HOME"])
  }

  func endpoints(_ environment: [String: String]) throws(UsageError) -> Endpoints? {
    for folder in folders(environment) {
      if let found = try Endpoints.read(folder: folder) { return found }
    }
    return nil
  }

  private static func readSecret(_ path: String) throws(UsageError) -> String {
    guard let bytes = FileManager.default.contents(atPath: path), bytes.count <= 4096,
      let text = String(data: bytes, encoding: .utf8)?.trimmingCharacters(in: .whitespacesAndNewlines), !text.isEmpty
    else { throw UsageError("cannot read a key from \(path)") }
    return InternalTokenAuthenticator.presented(text)
  }

  /// Creates a client for the selected server, with TLS if configured.
  ///
  /// - Throws: The errors of `destination(environment:)`; `RPCError` INVALID_ARGUMENT `TLS_CONFIGURATION_INVALID`.
  public func connect() throws -> ServiceConnection {
    let environment = ProcessInfo.processInfo.environment
    return try ServiceConnection(try destination(environment: environment), tls: clientTLS(environment))
  }

  private func address(_ environment: [String: String]) -> String? {
    // Options that select a server take precedence over the environment.
    address ?? (dataDir == nil && target == "gateway" ? environment["CAMPANILE_ADDRESS"] : nil)
  }

  /// Returns the TLS configuration, or nil for a connection without TLS.
  func clientTLS(_ environment: [String: String]) -> ClientTLS? {
    let isOfEnvironment = address == nil && address(environment) != nil
    let tlsTrust = tlsTrust ?? (isOfEnvironment ? environment["CAMPANILE_TLS_TRUST"] : nil)
    let tlsServerName = tlsServerName ?? (isOfEnvironment ? environment["CAMPANILE_TLS_SERVER_NAME"] : nil)
    guard tls || tlsTrust != nil || tlsServerName != nil else { return nil }
    return ClientTLS(trustRootsPath: tlsTrust, serverName: tlsServerName)
  }

  /// Returns the options for one call.
  public func callOptions() -> CallOptions {
    // A person is waiting: fail immediately if nothing listens.
    var options = CallOptions(timeoutMs: timeout?.milliseconds, waitForReady: false)
    for header in headers { options.metadata.add(header.value, for: header.key) }
    if let principal { options.metadata.set(principal.name, for: Principal.metadataKey) }
    return options
  }

  /// Parses `--as`.
  ///
  /// - Throws: `ValidationError` for text that is not a valid principal.
  private static func principal(_ text: String) throws -> Principal {
    guard let principal = Principal(text) else { throw ValidationError("\(text.debugDescription) \(Principal.form)") }
    return principal
  }
}
