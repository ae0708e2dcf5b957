public import ArgumentParser

/// `campanile describe [NAME]`
public struct DescribeCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "describe",
    abstract: "Print the proto definition of a service, method or message.",
    discussion: "  campanile describe CreateNotification\n  campanile describe Notification")

  @Argument(
    help: "Service, method or message, or a unique abbreviation (default: all services).",
    completion: MethodCompletion.kind)
  var name: String?

  @OptionGroup var connection: ConnectionOptions

  public init() {}

  public func run() async throws {
    let index = try await connection.connect().descriptors()
    let names = name.map { [$0] } ?? index.serviceNames
    for (number, name) in names.enumerated() {
      if number > 0 { try Console.writeLine("") }
      try Console.write(Array(Terminal.printable(try index.text(of: name), except: ["\n", "\t"]).utf8), to: 1)
    }
  }
}

extension DescriptorIndex {
  /// Full names of the services, in file order.
  public var serviceNames: [String] { services.map(\.name) }
}
