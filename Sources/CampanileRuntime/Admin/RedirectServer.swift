import CampanileRPC
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// The settings of executables that send callers in plaintext to their HTTPS.
public enum RedirectSettings {
  public static let port = "https-redirect-port"
  public static let target = "https-redirect-to"

  public static let all: [Setting] = [
    .int(
      port, in: 1...65_535, help: "port of plain HTTP that answers everything with a redirect to HTTPS; unset for none"),
    .string(target, help: "where to, such as https://api.example; by default the host asked for and the HTTP port"),
  ]

  /// Nil where nothing is redirected. Throws `ConfigurationError` `conflictingSettings` without TLS, and `invalidValue` for what is
  /// no such target.
  static func configuration(_ settings: Settings) throws(ConfigurationError) -> (port: Int, target: HTTPSRedirect)? {
    guard settings.entries[port] != nil, let number = try settings.optionalInt(port) else { return nil }
    guard settings.isSet(CommonSettings.tlsCertFile) else {
      throw ConfigurationError(
        code: .conflictingSettings, key: port,
        message: "--\(port) needs TLS: --\(CommonSettings.tlsCertFile) and "
          + "--\(CommonSettings.tlsKeyFile)")
    }
    let base = try settings.optionalString(target)
    if let base {
      let name = base.dropFirst("https://".count)
      guard base.hasPrefix("https://"), HTTPSRedirect.isAuthority(name) else {
        throw ConfigurationError(
          code: .invalidValue, key: target, message: "\(target) must be https://HOST or https://HOST:PORT")
      }
    }
    return (number, HTTPSRedirect(base: base))
  }
}

/// Where a request in plaintext is sent instead.
struct HTTPSRedirect: Sendable, Hashable {
  /// `https://HOST[:PORT]`; nil for the host that the request asks for.
  var base: String?

  /// The URL that answers the request; nil for a request that names no host or path that can be put into one.
  ///
  /// - Parameter httpsPort: where HTTPS is listened on.
  func location(authority: String?, path: String?, httpsPort: Int) -> String? {
    guard let path, path.hasPrefix("/"), path.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else { return nil }
    if let base { return base + path }
    guard let authority, Self.isAuthority(authority) else { return nil }
    let host =
      authority.hasPrefix("[")
      ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
    return "https://\(host)\(httpsPort == 443 ? "" : ":\(httpsPort)")\(path)"
  }

  /// A host's name or address, IPv6 in brackets, and perhaps a port: nothing that would begin a path or a line.
  static func isAuthority(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.count <= 260
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "["),
          UInt8(ascii: "]"):
          true
        default: false
        }
      }
  }
}

/// Answers every request in plaintext with 308 to HTTPS (RFC 9110 section 15.4.9), without reading its body.
struct RedirectServer: Service {
  let host: String
  let port: Int
  let redirect: HTTPSRedirect
  /// The port of HTTPS, once it is known.
  let httpsPort: @Sendable () async -> Int?
  let group: any EventLoopGroup
  let logger: Logger

  /// Serves until graceful shutdown. Throws `StartupError` when the address cannot be listened on.
  func run() async throws {
    guard let httpsPort = await httpsPort() else { return }
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .warning)
    let application = Application(
      responder: CallbackResponder<BasicRequestContext> { request, _ in
        let target = request.head.path
        guard let location = redirect.location(authority: request.head.authority, path: target, httpsPort: httpsPort)
        else { return Response(status: .badRequest, headers: [.connection: "close"]) }
        return Response(status: .permanentRedirect, headers: [.location: location, .connection: "close"])
      },
      server: .http1(
        configuration: .init(
          idleTimeout: .seconds(10),
          httpDecoderConfiguration: .init(
            maxHeaderFieldSize: 8192, maxHeaderListSize: 16_384, maxHeaderFieldCount: 64))),
      configuration: ApplicationConfiguration(
        address: .hostname(host, port: port), serverName: "campanile",
        availableConnectionsDelegate: MaximumAvailableConnections(AdminServer.maximumConnections)),
      eventLoopGroupProvider: .shared(group), logger: quiet)
    do { try await application.run() } catch let error as IOError {
      throw StartupError("cannot listen on \(host):\(port) for redirects: \(error.reasonText)")
    }
  }
}
