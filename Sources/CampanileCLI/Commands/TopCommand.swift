public import ArgumentParser
internal import Foundation

/// `campanile top`
public struct TopCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "top",
    abstract: "Show the gateway's rates, latencies and errors by method, live.",
    discussion: """
      Reads the admin port of a gateway on this machine. On a terminal, the table is redrawn every interval until Ctrl-C; \
      otherwise each interval is printed as a line of JSON. Latencies cover the calls that ended during the interval.
      """)

  @Option(
    help: ArgumentHelp("Admin port of the gateway (default: from endpoints.json).", valueName: "host:port"))
  var address: String?

  @Option(
    help: ArgumentHelp("Folder with endpoints.json (default: ./.campanile, then ~/.campanile).", valueName: "dir"))
  var dataDir: String?

  @Option(help: ArgumentHelp("Refresh interval: 250ms, 5s.", valueName: "duration"))
  var interval = "1s"

  @Option(help: "Order of the methods: rate, errors, p99, total or name.")
  var sort = TopFrame.Order.rate.rawValue

  @Flag(help: "Show one interval and exit.")
  var once = false

  @Flag(help: "Print JSON even on a terminal.")
  var json = false

  /// Admin port of a gateway with the default port base.
  static let defaultPort = 7600

  public init() {}

  public func validate() throws {
    guard let interval = Timeout(argument: interval), interval.milliseconds >= 100 else {
      throw ValidationError("--interval must be a duration of at least 100ms.")
    }
    guard TopFrame.Order(rawValue: sort) != nil else {
      throw ValidationError("--sort must be one of \(TopFrame.Order.allCases.map(\.rawValue).joined(separator: ", ")).")
    }
  }

  public func run() async throws {
    let session = TopSession(
      client: try client(), intervalMs: Timeout(argument: interval)?.milliseconds ?? 1_000,
      order: TopFrame.Order(rawValue: sort) ?? .rate, isOnce: once, isJSON: json)
    try await Interruption.run { try await session.run() }
  }

  private func client() throws(UsageError) -> OperatorClient {
    if let address {
      let destination = try Destination(address: address)
      return OperatorClient(host: destination.host, port: destination.port)
    }
    var options = ConnectionOptions()
    options.dataDir = dataDir
    let endpoints = try options.endpoints(ProcessInfo.processInfo.environment)
    if let endpoints, let gateway = endpoints.services["gateway"], gateway.admin == nil {
      throw UsageError("\(Endpoints.fileName) has no admin port for the gateway: give --address host:port")
    }
    return OperatorClient(host: "127.0.0.1", port: endpoints?.services["gateway"]?.admin ?? Self.defaultPort)
  }
}
