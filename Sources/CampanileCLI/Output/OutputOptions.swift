public import ArgumentParser
internal import Foundation

/// Options for a command's output.
public struct OutputOptions: ParsableArguments, Sendable {
  /// The output format: `json` is one line per message, `pretty` is indented.
  public enum Form: String, ExpressibleByArgument, CaseIterable, Sendable {
    case json
    case pretty
  }

  @Option(name: [.short, .long], help: "Format of the output (default: pretty on a terminal, json otherwise).")
  public var output: Form?

  public init() {}

  /// The requested format, or the default for standard output.
  public var form: Form { output ?? (Terminal.isTerminal(STDOUT_FILENO) ? .pretty : .json) }

  public var formatter: JSONFormatter {
    form == .json
      ? JSONFormatter(layout: .compact)
      : JSONFormatter(layout: .pretty, isColoured: Terminal.isColoured(descriptor: STDOUT_FILENO))
  }
}
