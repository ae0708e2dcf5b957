import CampanileAPI
import CampanileHealthReflection
import CampanileRPC
import Echo
import Logging
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import CampanileServer

/// A server that records the calls of its methods.
private struct FakeServer: DrainableServer {
  let transcript: Collector
  var startError: StartupError?

  func start() async throws -> Int {
    if let startError { throw startError }
    transcript.add("start")
    return 4711
  }
  var isDrained = true
  func drain(timeoutMs: Int64) async -> Bool {
    transcript.add("drain \(timeoutMs)")
    return isDrained
  }
  func shutdown() async { transcript.add("shutdown") }
}

/// A service without methods that records when draining begins.
private struct Draining: RPCService {
  let transcript: Collector
  func register(in registry: inout MethodRegistry) {}
  func drainBegan() { transcript.add("service drains") }
}

private struct Background: Service {
  let transcript: Collector
  func run() async throws {
    try await gracefulShutdown()
    transcript.add("background ends")
  }
}

@Suite struct ServiceMainTests {
  private let transcript = Collector()
  private let output = Collector()
  private let errors = Collector()
  private let logs = Collector()
  private let signals = AsyncStream.makeStream(of: Int32.self)
  private let specification = ServiceSpecification(name: "campanile-test", version: "1.2.3", defaultPort: 0)

  private func environment(_ arguments: [String], server: FakeServer? = nil) -> ServiceEnvironment {
    var environment = ServiceEnvironment(
      arguments: arguments, variables: [:], logSink: logs, isTerminal: false,
      writeOutput: { [output] in output.add($0) }, writeError: { [errors] in errors.add($0) },
      signals: { [signals] in signals.stream }, endAtOnce: { [transcript] in transcript.add("end at once \($0)") },
      bootstrap: { _, _ in })
    if let server { environment.replaceServer = { _ in server } }
    return environment
  }

  @Test func drainHappensInOrder() async throws {
    let folder = try TemporaryFolder()
    let ready = folder.path + "/ready.json"
    let environment = environment(
      ["--http-enabled=false", "--drain-timeout-ms=1234", "--ready-file", ready],
      server: FakeServer(transcript: transcript))
    let code = await ServiceMain.run(specification, environment: environment) { [transcript, signals] context in
      transcript.add("open")
      var components = ServiceComponents(rpcServices: [Draining(transcript: transcript)])
      components.backgroundServices = [Background(transcript: transcript)]
      let states = context.health.watch("")
      components.beginDrain = {
        transcript.add("begin drain, health \(context.health.status(of: "").map(String.init(describing:)) ?? "")")
      }
      components.close = { transcript.add("close") }
      Task {
        guard let states else { return }
        for await state in states where state == .serving {
          transcript.add("serving")
          signals.continuation.yield(15)
        }
      }
      return components
    }
    #expect(code == 0)
    #expect(
      transcript.all == [
        "open", "start", "serving", "service drains", "begin drain, health NOT_SERVING", "drain 1234", "shutdown",
        "background ends", "close",
      ])
    #expect(errors.all.isEmpty)
    let text = try String(
      decoding: SettingFile.read(path: ready, key: "", maximumBytes: 999, isPrivate: true), as: UTF8.self)
    #expect(text.hasPrefix("{\"rpc\":4711,\"http\":null,\"pid\":"))
  }

  @Test(arguments: [true, false]) func drainThatTimesOutIsLogged(isDrained: Bool) async throws {
    let environment = environment(
      ["--http-enabled=false"], server: FakeServer(transcript: transcript, isDrained: isDrained))
    signals.continuation.yield(15)
    #expect(await ServiceMain.run(specification, environment: environment) { _ in ServiceComponents() } == 0)
    #expect(logs.text.contains("calls are still open after draining") != isDrained)
    #expect(logs.text.contains("\"drained\"") == isDrained)
  }

  @Test func secondSignalEndsImmediately() async throws {
    let environment = environment(["--http-enabled=false"], server: FakeServer(transcript: transcript))
    signals.continuation.yield(15)
    let code = await ServiceMain.run(specification, environment: environment) { [transcript, signals] _ in
      var components = ServiceComponents()
      components.beginDrain = {
        signals.continuation.yield(2)
        try? await eventually("the second signal is seen") { transcript.text.contains("end at once") }
      }
      return components
    }
    #expect(code == 0)
    #expect(transcript.all == ["start", "end at once 130", "drain 10000", "shutdown"])
  }

  @Test(arguments: [
    (["--prot=1"], 78, "unknown flag --prot, did you mean port?"),
    (["--host=0.0.0.0"], 78, "without a credential"),
    (["--tls-cert-file=/x"], 78, "TLS needs both"),
    (["--port=65500"], 78, "beyond 65535"),
    (["--ready-file=/nonexistent/r", "--http-enabled=false"], 1, "/nonexistent/r"),
    (["--host=192.0.2.1", "--port=1", "--tls-client-ca-file=/x"], 78, "TLS needs both"),
  ])
  func failuresAreOneLineWithExitCode(arguments: [String], code: Int32, text: String) async {
    let environment = environment(arguments)
    let result = await ServiceMain.run(specification, environment: environment) { _ in ServiceComponents() }
    #expect(result == code)
    #expect(errors.all.count == 1)
    #expect(errors.text.hasPrefix("campanile-test: "))
    #expect(errors.text.contains(text), "\(errors.text)")
    #expect(errors.text.filter(\.isNewline).count == 1)
  }

  @Test func failedStartClosesComponents() async {
    let environment = environment(
      ["--http-enabled=false"], server: FakeServer(transcript: transcript, startError: StartupError("no\nport")))
    let code = await ServiceMain.run(specification, environment: environment) { [transcript] _ in
      var components = ServiceComponents()
      components.close = { transcript.add("close") }
      return components
    }
    #expect(code == 1)
    #expect(errors.all == ["campanile-test: no?port\n"])
    #expect(transcript.all == ["close"])
  }

  @Test func helpAndPrintConfigDoNotOpenComponents() async {
    for arguments in [["--help"], ["--version"], ["--print-config"]] {
      let code = await ServiceMain.run(specification, environment: environment(arguments)) { [transcript] _ in
        transcript.add("open")
        return ServiceComponents()
      }
      #expect(code == 0)
    }
    #expect(output.all.count == 3)
    #expect(transcript.all.isEmpty)
  }
}
