public import ArgumentParser
internal import Foundation

/// How a command shows what it got.
public struct OutputOptions: ParsableArguments, Sendable {
  /// `json` is one line for each message, `pretty` is indented.
  public enum Form: String, ExpressibleByArgument, CaseIterable, Sendable {
    case json
    case pretty
  }

  @Option(name: [.short, .long], help: "Form of the output (default: pretty on a terminal, json elsewhere).")
  public var output: Form?

  public init() {}

  /// What was asked for, or what suits standard output.
  public var form: Form { output ?? (Terminal.isTerminal(STDOUT_FILENO) ? .pretty : .json) }

  public var formatter: JSONFormatter {
    form == .json
      ? JSONFormatter(layout: .compact)
      : JSONFormatter(layout: .pretty, isColoured: Terminal.isColoured(descriptor: STDOUT_FILENO))
  }
}
