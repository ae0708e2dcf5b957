public import ArgumentParser
internal import CampanileRPC
internal import Foundation

/// `campanile call METHOD [REQUEST]`
public struct CallCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "call",
    abstract: "Call a method and print its response.",
    discussion: """
      The request is JSON, @file, or - for standard input; the default is an empty message. A client-streaming method reads
      one JSON object per line from @file or standard input. `campanile describe METHOD` shows the field names, which are
      accepted in either form (unreadOnly or unread_only). Unknown fields and enum names are an error before the call,
      because servers ignore them.

        campanile call ListBuckets
        campanile call GetNotification '{"notificationId":"n_…"}' --timeout 2s
        campanile call ExportUserData > mine.jsonl
        campanile call ImportUserData @mine.jsonl
      """)

  @Argument(help: "Method, or a unique abbreviation of it.", completion: MethodCompletion.kind)
  var method: String

  @Argument(help: ArgumentHelp("Request as JSON, @file, or - for standard input.", valueName: "json"))
  var request: String?

  @Flag(help: "Send fields and enum names that the server does not know.")
  var allowUnknown = false

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var output: OutputOptions

  public init() {}

  public func run() async throws {
    let service = try connection.connect()
    let method = try await service.method(self.method)
    let call = MethodCall(
      service: service, method: method, options: connection.callOptions(),
      checker: allowUnknown ? nil : try await service.requestChecker(for: method))
    try await call.run(RequestSource(argument: request), formatter: output.formatter)
  }
}

/// `campanile watch METHOD [REQUEST]`
public struct WatchCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Print the messages of a server stream until it ends or Ctrl-C is pressed.",
    discussion: "  campanile watch WatchNotifications '{}'")

  @Argument(help: "Server-streaming method, or a unique abbreviation of it.", completion: MethodCompletion.kind)
  var method: String

  @Argument(help: ArgumentHelp("Request as JSON, @file, or - for standard input.", valueName: "json"))
  var request: String?

  @Flag(help: "Send fields and enum names that the server does not know.")
  var allowUnknown = false

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var output: OutputOptions

  public init() {}

  public func run() async throws {
    let service = try connection.connect()
    let method = try await service.method(self.method)
    guard method.serverStreaming else {
      throw UsageError("\(method.path) is not server-streaming: use `campanile call`")
    }
    let call = MethodCall(
      service: service, method: method, options: connection.callOptions(),
      checker: allowUnknown ? nil : try await service.requestChecker(for: method))
    let source = RequestSource(argument: request)
    let formatter = output.formatter
    try await Interruption.run { try await call.run(source, formatter: formatter) }
  }
}

/// A call of any streaming shape, with requests and responses as JSON.
struct MethodCall: Sendable {
  var service: ServiceConnection
  var method: KnownMethod
  var options: CallOptions
  /// Checks requests before they are sent; nil for no check.
  var checker: RequestChecker?

  private var idempotency: Idempotency { method.allowsRepeat ? .idempotent : .unknown }

  /// Makes the call and prints each response with `formatter`.
  ///
  /// - Throws: `RPCError` if the call fails.
  func run(_ source: RequestSource, formatter: JSONFormatter) async throws {
    switch (method.clientStreaming, method.serverStreaming) {
    case (false, false):
      let reply = try await service.client.rawUnary(
        method: method.path, paramsJSON: try read(source), idempotency: idempotency, options: options)
      try Console.writeLine(formatter.format(reply))
    case (false, true):
      let stream = try service.client.rawServerStreaming(
        method: method.path, paramsJSON: try read(source), idempotency: idempotency, options: options)
      for try await message in stream { try Console.writeLine(formatter.format(message)) }
      try Task.checkCancellation()
    case (true, false):
      let lines = try source.lines()
      let reply = try await service.client.rawClientStreaming(method: method.path, options: options) { sink in
        for try await line in lines { try await sink.send(checked(line)) }
      }
      try Console.writeLine(formatter.format(reply))
    case (true, true):
      let lines = try source.lines()
      let stream = service.client.rawBidirectional(method: method.path, options: options) { sink in
        for try await line in lines { try await sink.send(checked(line)) }
      }
      for try await message in stream { try Console.writeLine(formatter.format(message)) }
    }
  }

  private func read(_ source: RequestSource) throws(UsageError) -> [UInt8] { try checked(source.read()) }

  private func checked(_ request: [UInt8]) throws(UsageError) -> [UInt8] {
    try checker?.check(request)
    return request
  }
}
