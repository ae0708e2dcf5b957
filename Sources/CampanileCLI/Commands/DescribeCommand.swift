public import ArgumentParser
internal import CampanileContract

/// `campanile describe [NAME]`
public struct DescribeCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "describe",
    abstract: "Print the proto definition of a service, method or message, with constraints.",
    discussion: """
      A method includes its scope, its REST paths, the reasons of its errors, an example request, and the command that sends
      it.

        campanile describe CreateNotification
        campanile describe Notification
      """)

  @Argument(
    help: "Service, method or message, or a unique abbreviation (default: all services).",
    completion: MethodCompletion.kind)
  var name: String?

  @OptionGroup var connection: ConnectionOptions

  public init() {}

  public func run() async throws {
    let text = ProtoText(contract: try await connection.connect().contract())
    let names = name.map { [$0] } ?? text.contract.services.map(\.name)
    for (number, name) in names.enumerated() {
      if number > 0 { try Console.writeLine("") }
      try Console.write(Array(try text.text(of: name).utf8), to: 1)
    }
  }
}
