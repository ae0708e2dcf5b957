public import ArgumentParser
public import CampanileRPC
internal import Foundation

/// Which server a command talks to, and as whom. Shared by every command that calls.
///
/// Where an option is not given the environment may tell: CAMPANILE_ADDRESS, CAMPANILE_KEY, CAMPANILE_KEY_FILE,
/// CAMPANILE_TLS_TRUST and CAMPANILE_TLS_SERVER_NAME. Those of TLS count for the server of CAMPANILE_ADDRESS alone.
public struct ConnectionOptions: ParsableArguments, Sendable {
  @Option(help: ArgumentHelp("Server to call, instead of the one in endpoints.json.", valueName: "host:port"))
  public var address: String?

  @Option(help: ArgumentHelp("Part of the suite to call, as endpoints.json names it.", valueName: "name"))
  public var target = "gateway"

  @Option(
    help: ArgumentHelp("Folder with endpoints.json (default: ./.campanile, then ~/.campanile).", valueName: "dir"))
  public var dataDir: String?

  @Option(help: ArgumentHelp("API key, or CAMPANILE_KEY in the environment.", valueName: "cmp_…"))
  public var key: String?

  @Option(help: ArgumentHelp("File that holds the API key.", valueName: "file"))
  public var keyFile: String?

  @Option(help: ArgumentHelp("File that holds the internal token, to call a service directly.", valueName: "file"))
  public var internalTokenFile: String?

  @Option(
    name: .customLong("as"),
    help: ArgumentHelp(
      "Principal to act as, for example user/alice; a service called directly believes it.", valueName: "principal"))
  public var principal: String?

  @Flag(help: "Speak TLS.")
  public var tls = false

  @Option(help: ArgumentHelp("Certificates that are believed (PEM); implies --tls.", valueName: "file"))
  public var tlsTrust: String?

  @Option(
    help: ArgumentHelp("Name that the certificate must have instead of the host; implies --tls.", valueName: "name"))
  public var tlsServerName: String?

  @Option(help: ArgumentHelp("How long the call may take: 250ms, 5s, 2m.", valueName: "duration"))
  public var timeout: Timeout?

  @Option(
    name: [.customShort("H"), .customLong("header")],
    help: ArgumentHelp("Metadata sent with the call; may be repeated.", valueName: "key:value"))
  public var headers: [MetadataArgument] = []

  public init() {}
}

/// A length of time on the command line: a whole number with `ms`, `s`, `m` or `h`; seconds without.
public struct Timeout: ExpressibleByArgument, Sendable, Hashable {
  public var milliseconds: Int64

  /// The longest that is accepted: a day.
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

/// One `key:value` of metadata on the command line.
public struct MetadataArgument: ExpressibleByArgument, Sendable, Hashable {
  public var key: String
  public var value: String

  /// `nil` without a colon, or with a key that may not be sent.
  public init?(argument: String) {
    guard let colon = argument.firstIndex(of: ":") else { return nil }
    key = argument[..<colon].trimmingCharacters(in: .whitespaces).lowercased()
    value = argument[argument.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    guard Metadata.isValidKey(key) else { return nil }
  }
}

/// A server's address and what lets the caller in.
public struct Destination: Sendable, Hashable {
  public var host: String
  public var port: Int
  /// Presented in `rpc.hello`: an API key, or the internal token.
  public var token: String?

  public init(host: String, port: Int, token: String? = nil) {
    self.host = host
    self.port = port
    self.token = token
  }

  /// Reads `host:port`, `[v6]:port` or `:port` (on 127.0.0.1). Throws `UsageError` for anything else.
  public init(address: String) throws(UsageError) {
    guard let colon = address.lastIndex(of: ":"), let port = Int(address[address.index(after: colon)...]),
      (1...65_535).contains(port)
    else { throw UsageError("\(address.debugDescription) is no address: give host:port") }
    var host = String(address[..<colon])
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = String(host.dropFirst().dropLast())
    } else if host.contains(":") {
      throw UsageError("\(address.debugDescription) is no address: give an IPv6 address in brackets")
    }
    self.init(host: host.isEmpty ? "127.0.0.1" : host, port: port)
  }
}

extension ConnectionOptions {
  /// Works out whom to call, from the options, then the environment, then `endpoints.json`.
  ///
  /// - Throws: `UsageError` when nothing says where the server is, or a file cannot be used.
  public func destination(
    environment: [String: String]? = nil
  ) throws(UsageError) -> Destination {
    let environment = environment ?? ProcessInfo.processInfo.environment
    let secret = try givenSecret(environment)
    if let address = address(environment) {
      var destination = try Destination(address: address)
      destination.token =
        if let secret { secret } else { try suitesToken(destination.host, destination.port, by: \.rpc, environment) }
      return destination
    }
    guard let endpoints = try endpoints(environment) else {
      let searched = folders(environment).joined(separator: " or ")
      throw UsageError("no \(Endpoints.fileName) in \(searched): start `campanile up`, or give --address host:port")
    }
    guard let service = endpoints.services[target] else {
      let names = endpoints.services.keys.sorted().joined(separator: ", ")
      throw UsageError("no \(target.debugDescription) in \(Endpoints.fileName): it has \(names)")
    }
    return Destination(
      host: "127.0.0.1", port: service.rpc, token: secret ?? token(for: service, in: endpoints))
  }

  /// What is presented to an HTTP server: what was given, or what the suite's own file has for an address that belongs to the suite.
  ///
  /// - Throws: `UsageError` when a file cannot be used.
  func httpToken(
    host: String, port: Int, environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(UsageError) -> String? {
    if let secret = try givenSecret(environment) { return secret }
    return try suitesToken(host, port, by: \.http, environment)
  }

  /// The secret that the options or the environment name.
  private func givenSecret(_ environment: [String: String]) throws(UsageError) -> String? {
    if let internalTokenFile { return try Self.readSecret(internalTokenFile) }
    if let keyFile { return try Self.readSecret(keyFile) }
    if let key = key ?? environment["CAMPANILE_KEY"] { return key }
    return if let file = environment["CAMPANILE_KEY_FILE"] { try Self.readSecret(file) } else { nil }
  }

  /// What the suite's own file says for an address that belongs to the suite. Nobody else may see it.
  private func suitesToken(
    _ host: String, _ port: Int, by face: KeyPath<Endpoints.Service, Int>, _ environment: [String: String]
  ) throws(UsageError) -> String? {
    guard host == "127.0.0.1" || host == "localhost", let endpoints = try endpoints(environment),
      let service = endpoints.services.values.first(where: { $0[keyPath: face] == port })
    else { return nil }
    return token(for: service, in: endpoints)
  }

  /// Only who holds the internal token is believed about a principal.
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

  /// The client of the server that the options name, over TLS where they ask for it.
  ///
  /// - Throws: as `destination(environment:)`, and `RPCError` INVALID_ARGUMENT `TLS_CONFIGURATION_INVALID`.
  public func connect() throws -> ServiceConnection {
    let environment = ProcessInfo.processInfo.environment
    return try ServiceConnection(try destination(environment: environment), tls: clientTLS(environment))
  }

  private func address(_ environment: [String: String]) -> String? {
    // What names a server on the command line goes before the environment.
    address ?? (dataDir == nil && target == "gateway" ? environment["CAMPANILE_ADDRESS"] : nil)
  }

  /// How TLS is spoken; `nil` for not at all.
  func clientTLS(_ environment: [String: String]) -> ClientTLS? {
    let isOfEnvironment = address == nil && address(environment) != nil
    let tlsTrust = tlsTrust ?? (isOfEnvironment ? environment["CAMPANILE_TLS_TRUST"] : nil)
    let tlsServerName = tlsServerName ?? (isOfEnvironment ? environment["CAMPANILE_TLS_SERVER_NAME"] : nil)
    guard tls || tlsTrust != nil || tlsServerName != nil else { return nil }
    return ClientTLS(trustRootsPath: tlsTrust, serverName: tlsServerName)
  }

  /// What the options say about one call.
  public func callOptions() -> CallOptions {
    // A person waits: where nothing listens, say so at once.
    var options = CallOptions(timeoutMs: timeout?.milliseconds, waitForReady: false)
    for header in headers { options.metadata.add(header.value, for: header.key) }
    if let principal { options.metadata.set(principal, for: "campanile-principal") }
    return options
  }
}
