import CampanileAPI
import CampanileBase
import CampanileRPC
import Echo
import Logging
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import CampanileHealthReflection
@testable import CampanileServer

/// A complete service on real sockets.
@Suite struct SocketTests {
  private let signals = AsyncStream.makeStream(of: Int32.self)
  private let logs = Collector()

  /// Runs `body` with the ports of a service, then drains the service and checks its exit code.
  private func withService(
    _ arguments: [String] = [], checks: [ReadinessCheck] = [],
    beginDrain: @escaping @Sendable () async -> Void = {},
    _ body: @Sendable (_ rpc: Int, _ http: Int) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    let ready = folder.path + "/ready.json"
    let environment = ServiceEnvironment(
      arguments: ["--port=0", "--ready-file", ready, "--drain-timeout-ms=10000"] + arguments, variables: [:],
      logSink: logs, isTerminal: false, writeOutput: { _ in }, writeError: { [logs] in logs.add($0) },
      signals: { [signals] in signals.stream }, endAtOnce: { _ in }, bootstrap: { _, _ in })
    async let code = ServiceMain.run(
      ServiceSpecification(name: "campanile-test", version: "1.2.3", defaultPort: 0), environment: environment
    ) { context in
      var components = ServiceComponents(rpcServices: [EchoService()])
      components.interceptors = [.logging(context.logger)]
      components.readinessChecks = checks
      components.beginDrain = beginDrain
      return components
    }
    try await eventually("ready") { (try? Self.read(ready)) != nil }
    let numbers = try Self.read(ready).split { !$0.isNumber }.compactMap { Int($0) }
    let result: Result<Void, any Error>
    do {
      try await body(numbers[0], numbers[1])
      result = .success(())
    } catch {
      result = .failure(error)
    }
    signals.continuation.yield(15)
    let ended = await code
    #expect(ended == 0, "\(logs.text)")
    try result.get()
  }

  private static func read(_ path: String) throws -> String {
    String(
      decoding: try SettingFile.read(path: path, key: "", maximumBytes: 999, isPrivate: true), as: UTF8.self)
  }

  /// Sends an HTTP/1.1 request and reads until the connection is closed.
  static func get(
    _ port: Int, _ path: String, method: String = "GET", host: String = "t"
  ) async throws -> String {
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connect(host: "127.0.0.1", port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    return try await channel.executeThenClose { inbound, outbound in
      try await outbound.write(
        ByteBuffer(string: "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n"))
      var text = ""
      for try await part in inbound { text += String(buffer: part) }
      return text
    }
  }

  private func client(_ port: Int) throws -> RPCClient {
    try RPCClient(ClientConfiguration(host: "127.0.0.1", port: port))
  }

  @Test func adminEndpointsRespond() async throws {
    try await withService { rpc, http in
      let health = try await Self.get(http, "/healthz")
      #expect(health.hasPrefix("HTTP/1.1 200") && health.hasSuffix("ok\n"))
      let ready = try await Self.get(http, "/readyz")
      #expect(ready.hasPrefix("HTTP/1.1 200"))
      #expect(ready.contains(#"{"status":"ready","checks":{"server":"ok"}}"#))
      #expect(try await Self.get(http, "/nothing").hasPrefix("HTTP/1.1 404"))
      #expect(try await Self.get(http, "/metrics", method: "POST").hasPrefix("HTTP/1.1 4"))
      #expect(rpc != http)
    }
  }

  @Test func readyzReportsProblems() async throws {
    try await withService(checks: [ReadinessCheck("store") { "disk \"full\"" }]) { _, http in
      let ready = try await Self.get(http, "/readyz")
      #expect(ready.hasPrefix("HTTP/1.1 503"))
      #expect(ready.contains(#""checks":{"server":"ok","store":"disk \"full\""}"#))
      #expect(try await Self.get(http, "/healthz").hasPrefix("HTTP/1.1 200"))
    }
  }

  @Test func callsHealthReflectionAndMetricsWorkTogether() async throws {
    try await withService { rpc, http in
      let client = try client(rpc)
      let request = EchoRequest(payload: "hello")
      #expect(try await EchoServiceClient(client).echo(request).payload == "hello")
      try await eventually("the interceptor logs the call") { logs.text.contains("EchoService/Echo") }
      let health = HealthClient(client)
      #expect(try await health.check(HealthCheckRequest()).status == .serving)
      let unknown = HealthCheckRequest(service: "no.such.Service")
      let error = await #expect(throws: RPCError.self) { try await health.check(unknown) }
      #expect(error?.code == .notFound)
      #expect(
        try await health.list(HealthListRequest()).statuses.keys.sorted() == [
          "", "campanile.rpc.v1.EchoService", "campanile.rpc.v1.ReflectionService", "grpc.health.v1.Health",
        ])
      let reflection = ReflectionServiceClient(client)
      let services = try await reflection.listServices(ListServicesRequest()).services
      #expect(
        services.map(\.name) == [
          "campanile.rpc.v1.EchoService", "campanile.rpc.v1.ReflectionService", "grpc.health.v1.Health",
        ])
      let chat = services.first?.methods.first { $0.name == "Chat" }
      #expect(chat?.clientStreaming == true && chat?.serverStreaming == true)
      var one = GetFileDescriptorSetRequest(service: "grpc.health.v1.Health")
      let set = try await reflection.getFileDescriptorSet(one).fileDescriptorSet
      #expect(DescriptorFiles(set).files.map(\.name) == ["grpc/health/v1/health.proto"])
      one.service = "campanile.notifications.v1.NotificationsService"
      await #expect(throws: RPCError.self) { try await reflection.getFileDescriptorSet(one) }
      let page = try await Self.get(http, "/metrics")
      #expect(page.contains("text/plain; version=0.0.4; charset=utf-8"))
      let start = try #require(page.firstRange(of: "\r\n\r\n")).upperBound
      let text = try PrometheusChecker(String(page[start...]))
      let labels = ["service": "campanile.rpc.v1.EchoService", "method": "Echo", "code": "OK"]
      #expect(text.value("campanile_server_handled_total", labels) == 1)
      #expect(try #require(text.value("campanile_server_open_connections")) >= 1)
      await client.close()
    }
  }

  @Test func drainFinishesOpenCallAndEndsHealthWatch() async throws {
    try await withService { rpc, http in
      let client = try client(rpc)
      let request = EchoRequest(delayMs: 1000)
      async let slow = EchoServiceClient(client).echo(request)
      // A call that arrives after the drain has begun is refused, so wait until it runs.
      try await eventually("the slow call runs") {
        let page = try? await Self.get(http, "/metrics")
        return page?.contains("campanile_server_open_calls 1\n") == true
      }
      var states: [HealthCheckResponse.ServingStatus] = []
      let error = await #expect(throws: RPCError.self) {
        for try await state in HealthClient(client).watch(HealthCheckRequest()) {
          states.append(state.status)
          if states.count == 1 {
            signals.continuation.yield(15)
          }
        }
      }
      #expect(states == [.serving, .notServing])
      #expect(error?.code == .unavailable)
      _ = try await slow
      await client.close()
    }
  }

  @Test func portInUseIsReportedAsOneLine() async throws {
    try await withService { rpc, http in
      for flags in [["--port=\(rpc)", "--http-enabled=false"], ["--port=0", "--http-port=\(http)"]] {
        let errors = Collector()
        let environment = ServiceEnvironment(
          arguments: flags, variables: [:], logSink: Collector(), isTerminal: false, writeOutput: { _ in },
          writeError: { errors.add($0) }, signals: { AsyncStream { _ in } }, endAtOnce: { _ in },
          bootstrap: { _, _ in })
        let code = await ServiceMain.run(
          ServiceSpecification(name: "campanile-test", version: "1.2.3", defaultPort: 0), environment: environment
        ) { _ in ServiceComponents() }
        #expect(code == 1)
        #expect(errors.all.count == 1)
        #expect(errors.text.contains("cannot listen on 127.0.0.1:"), "\(errors.text)")
        #expect(errors.text.contains("in use"), "\(errors.text)")
      }
    }
  }
}
