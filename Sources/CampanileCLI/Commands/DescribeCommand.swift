public import ArgumentParser

/// `campanile describe [NAME]`
public struct DescribeCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "describe",
    abstract: "Prints the contract of a service, a method or a message in the proto language.",
    discussion: "  campanile describe CreateNotification\n  campanile describe Notification")

  @Argument(
    help: "Service, method or message; all services without it. Abbreviate it as long as it is unique.",
    completion: MethodCompletion.kind)
  var name: String?

  @OptionGroup var connection: ConnectionOptions

  public init() {}

  public func run() async throws {
    let index = try await connection.connect().descriptors()
    let names = name.map { [$0] } ?? index.serviceNames
    for (number, name) in names.enumerated() {
      if number > 0 { try Console.writeLine("") }
      try Console.write(Array(try index.text(of: name).utf8), to: 1)
    }
  }
}

extension DescriptorIndex {
  /// The full names of the services, in the order of the files.
  public var serviceNames: [String] { services.map(\.name) }
}
