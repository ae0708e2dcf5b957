public import ArgumentParser
internal import CampanileLoad
internal import CampanileRPC
internal import Foundation

/// `campanile load METHOD [REQUEST]`
public struct LoadCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "load",
    abstract: "Calls a method again and again and reports how fast and how well it answers.",
    discussion: """
      A closed loop keeps --concurrency calls in flight. With --rate calls are sent at their times whatever the server does,
      and latency counts from the time a call was due: a server that stalls cannot hide it.

      A request may hold {{sequence}}, {{random LOW HIGH}}, {{uuid}}, {{now}}, {{nowMs}} and {{reply /FIELD else VALUE}}, a field of
      the reply before. A file that ends with .jsonl has a request on each line, sent in turn.

        campanile load GetUnreadCounts '{}' --concurrency 64 --duration 10s
        campanile load CreateNotification @requests.jsonl --rate 2000 --output html > report.html
        campanile load Echo '{"payload":"{{uuid}}"}' --rate 1000..20000 --threshold 'p99<5ms,errors<0.1%'
        campanile load compare before.json after.json

      `campanile load run --help` lists the options.

      Exit codes: 1 when a threshold is missed, 64 for wrong usage. Ctrl-C ends early with a full report.
      """,
    subcommands: [LoadRunCommand.self, LoadCompareCommand.self], defaultSubcommand: LoadRunCommand.self)

  public init() {}
}

/// What the report of a load test is written as.
enum ReportForm: String, ExpressibleByArgument, CaseIterable, Sendable {
  case text
  case json
  case csv
  case html
}

/// `campanile load METHOD [REQUEST]`
struct LoadRunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Runs a load test (the default).", shouldDisplay: false)

  @Argument(help: "Method; abbreviate it as long as it is unique.", completion: MethodCompletion.kind)
  var method: String

  @Argument(help: ArgumentHelp("Request as JSON, @file, @file.jsonl, or - for standard input.", valueName: "json"))
  var request: String?

  @OptionGroup var connection: ConnectionOptions

  @Option(help: ArgumentHelp("Calls in flight at most (default: 64, with --rate 1000).", valueName: "n"))
  var concurrency: Int?

  @Option(help: ArgumentHelp("Connections (default: 1 for each thread; over HTTP one for each call).", valueName: "n"))
  var connections: Int?

  @Option(help: ArgumentHelp("Threads of this tester.", valueName: "n"))
  var threads = 1

  @Option(help: ArgumentHelp("Calls a second: 5000, 1000,2000,4000 in steps, or 1000..8000 rising.", valueName: "rate"))
  var rate: String?

  @Option(help: "How the calls of --rate are spaced: poisson or uniform.")
  var arrivals: Arrivals = .poisson

  @Option(help: ArgumentHelp("Length of the measured part: 500ms, 10s, 5m.", valueName: "duration"))
  var duration: Timeout?

  @Option(
    help: ArgumentHelp(
      "Sent before what is measured (default: 1s; none with --count and for streams).", valueName: "duration"))
  var warmUp: WarmUp?

  @Option(help: ArgumentHelp("Measured calls at most.", valueName: "n"))
  var count: Int?

  @Option(
    help: ArgumentHelp(
      "Requests of each stream; of a stream of answers those after which it is cancelled.", valueName: "n"))
  var messages: Int?

  @Option(help: ArgumentHelp("Requests a second within each stream.", valueName: "rate"))
  var messageRate: Double?

  @Option(
    help: ArgumentHelp(
      "Load the Connect protocol at this address instead; https:// speaks TLS.", valueName: "http://host:port"))
  var http: String?

  @Option(help: ArgumentHelp("Conditions with commas between: p99<5ms,errors<0.1%,rate>1000.", valueName: "list"))
  var threshold: String?

  @Option(help: ArgumentHelp("Repeats the random numbers of the run that reported it.", valueName: "n"))
  var seed: UInt32?

  @Option(name: [.short, .long], help: "Form of the report: text, json, csv or html.")
  var output: ReportForm = .text

  /// The argument parser's form of `ArrivalSpacing`.
  enum Arrivals: String, ExpressibleByArgument, CaseIterable, Sendable {
    case poisson
    case uniform
  }

  /// A length of time that may be none.
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
    // Never that of another run by default: what is made from it, such as request ids, must not be there already.
    plan.seed = UInt64(seed ?? UInt32.random(in: .min ... .max))
    plan.stream = StreamPlan(messages: messages, messagesPerSecond: messageRate)
    if let rate {
      let rate = try ArrivalRate(rate)
      guard rate.isConstant || count == nil || duration != nil else {
        throw LoadError(.planInvalid, field: "--duration", reason: "is needed with steps and ramps")
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
        throw UsageError("METHOD: over HTTP give the whole name, package.Service/Method")
      }
      var server = try HTTPTarget(url: http, tls: connection.clientTLS([:]))
      server.token = try connection.httpToken(host: server.host, port: server.port)
      let target = LoadTarget(face: .http(server), method: method, metadata: metadata)
      try LoadNotice.tell(target, rate: rate)
      return target
    }
    let service = try connection.connect()
    let known = try await service.method(method)
    var configuration = service.client.configuration
    configuration.agent = "campanile-load"
    let target = LoadTarget(
      face: .rpc(configuration), method: known.path, clientStreaming: known.clientStreaming,
      serverStreaming: known.serverStreaming, metadata: metadata)
    try LoadNotice.tell(target, rate: rate)
    return target
  }
}

/// `campanile load compare FILE FILE…`
struct LoadCompareCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare", abstract: "Shows reports of load tests side by side; the first is the baseline.")

  @Argument(help: ArgumentHelp("Reports that --output json wrote, 2 to 20.", valueName: "file"), completion: .file())
  var files: [String]

  @Option(name: [.short, .long], help: "Form of the comparison: text or html.")
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
    case .json, .csv: throw UsageError("--output: a comparison is text or html")
    }
  }
}
