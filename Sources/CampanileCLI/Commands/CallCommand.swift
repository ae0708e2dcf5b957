public import ArgumentParser
internal import CampanileRPC
internal import Foundation

/// `campanile call METHOD [REQUEST]`
public struct CallCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "call",
    abstract: "Calls a method and prints its answer.",
    discussion: """
      The request is JSON, @file, or - for standard input; without one it is the empty message. A method with a stream of
      requests reads one JSON object a line, of @file or standard input. Names of fields are those of
      `campanile describe METHOD`, in either form (unreadOnly or unread_only).

        campanile call ListBuckets
        campanile call GetNotification '{"notificationId":"n_…"}' --timeout 2s
        campanile call ExportUserData > mine.jsonl
        campanile call ImportUserData @mine.jsonl
      """)

  @Argument(help: "Method; abbreviate it as long as it is unique.", completion: MethodCompletion.kind)
  var method: String

  @Argument(help: ArgumentHelp("Request as JSON, @file, or - for standard input.", valueName: "json"))
  var request: String?

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var output: OutputOptions

  public init() {}

  public func run() async throws {
    let service = try connection.connect()
    let method = try await service.method(self.method)
    try await MethodCall(service: service, method: method, options: connection.callOptions()).run(
      RequestSource(argument: request), formatter: output.formatter)
  }
}

/// `campanile watch METHOD [REQUEST]`
public struct WatchCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Prints what a server stream sends until it ends or Ctrl-C.",
    discussion: "  campanile watch WatchNotifications '{}'")

  @Argument(help: "Method that answers with a stream.", completion: MethodCompletion.kind)
  var method: String

  @Argument(help: ArgumentHelp("Request as JSON, @file, or - for standard input.", valueName: "json"))
  var request: String?

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var output: OutputOptions

  public init() {}

  public func run() async throws {
    let service = try connection.connect()
    let method = try await service.method(self.method)
    guard method.serverStreaming else {
      throw UsageError("\(method.path) answers once: use `campanile call`")
    }
    let call = MethodCall(service: service, method: method, options: connection.callOptions())
    let source = RequestSource(argument: request)
    let formatter = output.formatter
    try await Interruption.run { try await call.run(source, formatter: formatter) }
  }
}

/// One call of any shape, with JSON in and out.
struct MethodCall: Sendable {
  var service: ServiceConnection
  var method: KnownMethod
  var options: CallOptions

  private var idempotency: Idempotency { method.allowsRepeat ? .idempotent : .unknown }

  /// Makes the call and prints each answer as a line, or laid out, as `formatter` says. Throws `RPCError`.
  func run(_ source: RequestSource, formatter: JSONFormatter) async throws {
    switch (method.clientStreaming, method.serverStreaming) {
    case (false, false):
      let reply = try await service.client.rawUnary(
        method: method.path, paramsJSON: try source.read(), idempotency: idempotency, options: options)
      try Console.writeLine(formatter.format(reply))
    case (false, true):
      let stream = try service.client.rawServerStreaming(
        method: method.path, paramsJSON: try source.read(), idempotency: idempotency, options: options)
      for try await message in stream { try Console.writeLine(formatter.format(message)) }
      try Task.checkCancellation()
    case (true, false):
      let lines = try source.lines()
      let reply = try await service.client.rawClientStreaming(method: method.path, options: options) { sink in
        for try await line in lines { try await sink.send(line) }
      }
      try Console.writeLine(formatter.format(reply))
    case (true, true):
      let lines = try source.lines()
      let stream = service.client.rawBidirectional(method: method.path, options: options) { sink in
        for try await line in lines { try await sink.send(line) }
      }
      for try await message in stream { try Console.writeLine(formatter.format(message)) }
    }
  }
}
