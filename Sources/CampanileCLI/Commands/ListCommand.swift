public import ArgumentParser
internal import Foundation

/// `campanile list`
public struct ListCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the services and methods of a server.")

  @Argument(help: "Part of the names of the services to list (default: all services).")
  var service: String?

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var output: OutputOptions

  public init() {}

  public func run() async throws {
    var methods = try await connection.connect().methods()
    if let service {
      methods.removeAll { !$0.service.lowercased().contains(service.lowercased()) }
      if methods.isEmpty { throw UsageError("no service matches \(service.debugDescription)") }
    }
    let lines =
      output.form == .json
      ? try methods.map(Self.jsonLine)
      : Self.text(methods, isColoured: Terminal.isColoured(descriptor: STDOUT_FILENO))
    for line in lines { try Console.writeLine(line) }
  }

  /// Returns each service name, followed by its indented methods.
  static func text(_ methods: [KnownMethod], isColoured: Bool) -> [String] {
    let width = methods.map { Terminal.printable($0.name).count }.max() ?? 0
    var lines: [String] = []
    var current: String?
    for method in methods {
      if method.service != current {
        current = method.service
        lines.append(Terminal.Colour.bold.paint(Terminal.printable(method.service), if: isColoured))
      }
      let name = Terminal.printable(method.name).padding(toLength: width, withPad: " ", startingAt: 0)
      lines.append("  \(name)  " + Terminal.Colour.dim.paint(method.shape, if: isColoured))
    }
    return lines
  }

  static func jsonLine(_ method: KnownMethod) throws -> String {
    struct Line: Encodable {
      var method: String
      var clientStreaming: Bool
      var serverStreaming: Bool
      var allowsRepeat: Bool
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let line = Line(
      method: method.path, clientStreaming: method.clientStreaming, serverStreaming: method.serverStreaming,
      allowsRepeat: method.allowsRepeat)
    return String(decoding: Terminal.printableJSON(try encoder.encode(line)), as: UTF8.self)
  }
}
