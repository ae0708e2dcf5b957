public import ArgumentParser
internal import CampanileAPI
import CampanileBase
internal import CampanileCodec
internal import CampanileRPC
internal import Foundation

/// `campanile console`
public struct ConsoleCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "console",
    abstract: "Open the web console, signed in with the given key.",
    discussion: """
      Opens the browser with a link that works once, within 60 s, and signs in with the rights of the key. Without a display,
      or with --print, it prints the link instead. Do not pass it on: whoever opens it first has these rights.
      """)

  @Flag(name: .customLong("print"), help: "Print the link instead of opening it.")
  var prints = false

  @Option(
    help: ArgumentHelp(
      "Address of the gateway in the browser (default: its HTTP port in endpoints.json).", valueName: "http://host:port"
    ))
  var url: String?

  @OptionGroup var connection: ConnectionOptions

  public init() {}

  public func run() async throws {
    let environment = ProcessInfo.processInfo.environment
    let server = try connection.connect()
    let origin = try origin(server.destination, environment)
    let link = try await ConsoleLink.create(server.client, origin: origin, options: connection.callOptions())
    guard !prints, ConsoleLink.hasDisplay(environment) else { return try Console.writeLine(link) }
    guard try await ConsoleLink.open(link) else { return try Console.writeLine(link) }
    Console.note("opened the console at \(origin)")
  }

  /// Returns the gateway's address in the browser.
  private func origin(_ destination: Destination, _ environment: [String: String]) throws(UsageError) -> String {
    if let url {
      guard let parsed = URL(string: url), ["http", "https"].contains(parsed.scheme ?? ""), parsed.host != nil else {
        throw UsageError("--url \(url.debugDescription) is not an address such as https://gateway.example")
      }
      return url.hasSuffix("/") ? String(url.dropLast()) : url
    }
    let service = try connection.endpoints(environment)?.services.values.first { $0.rpc == destination.port }
    guard let service, destination.host == "127.0.0.1" || destination.host == "localhost" else {
      throw UsageError("the address in the browser is not known: give --url http://host:port")
    }
    return "http://127.0.0.1:\(service.http)"
  }
}

/// One-use links to the console.
enum ConsoleLink {
  /// Requests a link from the gateway.
  static func create(_ client: RPCClient, origin: String, options: CallOptions) async throws -> String {
    let response: CreateSignInLinkResponse = try await ConsoleServiceClient(client).createSignInLink(
      CreateSignInLinkRequest(), options: options)
    return origin + response.path
  }

  static func hasDisplay(_ environment: [String: String]) -> Bool {
    #if os(macOS)
      return true
    #else
      return !(environment["DISPLAY"] ?? environment["WAYLAND_DISPLAY"] ?? "").isEmpty
    #endif
  }

  /// Opens a link in the browser. Returns false if there is no program for that.
  ///
  /// The arguments of a process can be read by other users. The browser is therefore given a private file that leads to
  /// the link, and the file is removed soon.
  static func open(_ link: String) async throws -> Bool {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("campanile-\(UUID().uuidString).html").path
    let page = "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url=\(link)\">\n"
    try PrivateFile.write(Data(page.utf8), to: path)
    defer { unlink(path) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    #if os(macOS)
      process.arguments = ["open", path]
    #else
      process.arguments = ["xdg-open", path]
    #endif
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    do { try process.run() } catch { return false }
    // Some programs stay until the browser closes.
    for _ in 0..<20 where process.isRunning { try await Task.sleep(for: .milliseconds(100)) }
    guard process.isRunning || process.terminationStatus == 0 else { return false }
    try await Task.sleep(for: .seconds(3))
    return true
  }
}
