public import ArgumentParser
internal import CampanileLoad
internal import CampanileRPC
internal import Foundation

/// `campanile load METHOD [REQUEST]`
public struct LoadCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "load",
    abstract: "Run a load test of a method and report latencies, rates and errors.",
    discussion: """
      By default, a closed loop keeps --concurrency calls in flight. With --rate, calls are sent on schedule, however fast the
      server responds. Latency is then measured from the scheduled time, so that a stalled server cannot hide its delays.

      A request may contain {{sequence}}, {{random LOW HIGH}}, {{uuid}}, {{now}}, {{nowMs}} and {{reply /FIELD else VALUE}}, a
      field of the previous reply. A .jsonl file has one request per line; they are sent in rotation.

        campanile load GetUnreadCounts '{}' --concurrency 64 --duration 10s
        campanile load CreateNotification @requests.jsonl --rate 2000 --output html > report.html
        campanile load Echo '{"payload":"{{uuid}}"}' --rate 1000..20000 --threshold 'p99<5ms,errors<0.1%'
        campanile load compare before.json after.json

      `campanile load run --help` lists the options.

      Exit codes: 1 if a threshold is missed, 64 for incorrect usage. Ctrl-C ends the test early with a full report.
      """,
    subcommands: [LoadRunCommand.self, LoadCompareCommand.self], defaultSubcommand: LoadRunCommand.self)

  public init() {}
}

/// The output formats of a load test report.
enum ReportForm: String, ExpressibleByArgument, CaseIterable, Sendable {
  case text
  case json
  case csv
  case html
}

/// `campanile load METHOD [REQUEST]`
struct LoadRunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Run a load test (the default).", shouldDisplay: false)

  @Argument(help: "Method, or a unique abbreviation of it.", completion: MethodCompletion.kind)
  var method: String

  @Argument(help: ArgumentHelp("Request as JSON, @file, @file.jsonl, or - for standard input.", valueName: "json"))
  var request: String?

  @OptionGroup var connection: ConnectionOptions

  @Option(help: ArgumentHelp("Maximum number of calls in flight (default: 64; 1000 with --rate).", valueName: "n"))
  var concurrency: Int?

  @Option(
    help: ArgumentHelp("Number of connections (default: --threads; over HTTP --concurrency).", valueName: "n"))
  var connections: Int?

  @Option(help: ArgumentHelp("Number of threads of the load test.", valueName: "n"))
  var threads = 1

  @Option(
    help: ArgumentHelp(
      "Calls per second: 5000, 1000,2000,4000 for steps, or 1000..8000 for a ramp.", valueName: "rate"))
  var rate: String?

  @Option(help: "Spacing of the calls of --rate: poisson or uniform.")
  var arrivals: Arrivals = .poisson

  @Option(
    help: ArgumentHelp(
      "Duration of the measurement: 500ms, 10s, 5m (default: 10s; 24h with --count).", valueName: "duration"))
  var duration: Timeout?

  @Option(
    help: ArgumentHelp(
      "Duration of the warm-up before the measurement (default: 1s; 0 with --count and for streams).",
      valueName: "duration"))
  var warmUp: WarmUp?

  @Option(help: ArgumentHelp("Maximum number of measured calls.", valueName: "n"))
  var count: Int?

  @Option(
    help: ArgumentHelp(
      "Requests in each client stream, or responses after which a server stream is cancelled.", valueName: "n"))
  var messages: Int?

  @Option(help: ArgumentHelp("Requests per second in each stream.", valueName: "rate"))
  var messageRate: Double?

  @Option(
    help: ArgumentHelp(
      "HTTP server to load over the Connect protocol instead; https:// for TLS.", valueName: "http://host:port"))
  var http: String?

  @Option(help: ArgumentHelp("Comma-separated conditions: p99<5ms,errors<0.1%,rate>1000.", valueName: "list"))
  var threshold: String?

  @Option(help: ArgumentHelp("Random seed from an earlier report, to repeat its random numbers.", valueName: "n"))
  var seed: UInt32?

  @Option(name: [.short, .long], help: "Format of the report: text, json, csv or html.")
  var output: ReportForm = .text

  /// `ArrivalSpacing` as a command-line argument.
  enum Arrivals: String, ExpressibleByArgument, CaseIterable, Sendable {
    case poisson
    case uniform
  }

  /// A duration that may be 0.
  struct WarmUp: ExpressibleByArgument, Sendable {
    var milliseconds: Int64

    init?(argument: String) {
      guard let milliseconds = ["0", "0s", "0ms"].contains(argument) ? 0 : Timeout(argument: argument)?.milliseconds
      else { return nil }
      self.milliseconds = milliseconds
    }
  }

  init() {}

  func run() async throws {
    do {
      let thresholds = try threshold.map { try Threshold.list($0) } ?? []
      let target = try await target()
      let run = try LoadRun(try plan(isStream: target.isStreaming), requests: try requests(), target: target)
      let report = try await LoadSession(run: run, isMeasuredAloud: Terminal.isTerminal(STDERR_FILENO)).report()
      try ReportWriter(form: output).write([("run", report)])
      try ThresholdReport.check(thresholds, report)
    } catch let error as LoadError {
      throw UsageError(error.description)
    }
  }

  private func plan(isStream: Bool) throws -> LoadPlan {
    var plan = LoadPlan()
    plan.concurrency = concurrency ?? (rate == nil ? 64 : 1_000)
    plan.threads = threads
    plan.connections = connections ?? (http == nil ? max(1, threads) : plan.concurrency)
    plan.durationMs = duration?.milliseconds ?? (count == nil ? 10_000 : LoadPlan.durationMsMax)
    plan.warmupMs = warmUp?.milliseconds ?? (count == nil && !isStream ? 1_000 : 0)
    plan.count = count
    plan.timeoutMs = connection.timeout?.milliseconds ?? 30_000
    // A random seed by default: values derived from it, such as request ids, must not repeat those of another run.
    plan.seed = UInt64(seed ?? UInt32.random(in: .min ... .max))
    plan.stream = StreamPlan(messages: messages, messagesPerSecond: messageRate)
    if let rate {
      let rate = try ArrivalRate(rate)
      guard rate.isConstant || count == nil || duration != nil else {
        throw LoadError(.planInvalid, field: "--duration", reason: "is required for steps and ramps")
      }
      plan.pace = .open(rate, arrivals == .uniform ? .uniform : .poisson)
    }
    return plan
  }

  private func requests() throws -> RequestSet {
    let source = RequestSource(argument: request)
    if case .file(let path) = source, path.hasSuffix(".jsonl") { return try RequestSet(lines: try source.read()) }
    return try RequestSet(try source.read())
  }

  private func target() async throws -> LoadTarget {
    let metadata = connection.callOptions().metadata
    if let http {
      guard method.split(separator: "/").count == 2, method.contains(".") else {
        throw UsageError("METHOD: --http requires the full name, package.Service/Method")
      }
      var server = try HTTPTarget(url: http, tls: connection.clientTLS([:]))
      server.token = try connection.httpToken(host: server.host, port: server.port)
      let target = LoadTarget(transport: .http(server), method: method, metadata: metadata)
      try LoadNotice.tell(target, rate: rate)
      return target
    }
    let service = try connection.connect()
    let known = try await service.method(method)
    var configuration = service.client.configuration
    configuration.agent = "campanile-load"
    let target = LoadTarget(
      transport: .rpc(configuration), method: known.path, clientStreaming: known.clientStreaming,
      serverStreaming: known.serverStreaming, metadata: metadata)
    try LoadNotice.tell(target, rate: rate)
    return target
  }
}

/// `campanile load compare FILE FILE…`
struct LoadCompareCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare", abstract: "Show load test reports side by side; the first is the baseline.")

  @Argument(
    help: ArgumentHelp("Reports written with --output json, 2 to 20.", valueName: "file"), completion: .file())
  var files: [String]

  @Option(name: [.short, .long], help: "Format of the comparison: text or html.")
  var output: ReportForm = .text

  init() {}

  func run() throws {
    guard (2...Comparison.reportsMax).contains(files.count) else {
      throw UsageError("give 2 to \(Comparison.reportsMax) reports")
    }
    let reports = try files.map { path in
      let name = String(path.split(separator: "/").last ?? "").replacing(".json", with: "")
      do {
        return (name, try LoadReport(json: try RequestSource.file(path).read(), name: path))
      } catch let error as LoadError {
        throw UsageError(error.description)
      }
    }
    switch output {
    case .text: for line in Comparison.lines(reports) { try Console.writeLine(line) }
    case .html: try Console.writeLine(HTMLReport.page(reports))
    case .json, .csv: throw UsageError("--output must be text or html for a comparison")
    }
  }
}
