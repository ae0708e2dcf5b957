import CampanileBase
internal import CampanileRPC
internal import Foundation

/// Polls a gateway and prints the changes between samples.
struct TopSession: Sendable {
  var client: OperatorClient
  var intervalMs: Int64
  var order: TopFrame.Order
  /// Whether to print a single interval.
  var isOnce: Bool
  /// Whether to print JSON even on a terminal.
  var isJSON: Bool

  private static let enter = "\u{1b}[?1049h\u{1b}[?25l"
  private static let leave = "\u{1b}[?25h\u{1b}[?1049l"

  /// Runs until the task is cancelled.
  ///
  /// On a terminal, waits for a gateway that becomes unreachable after the first sample.
  ///
  /// - Throws: The errors of `OperatorClient`.
  func run() async throws {
    let isLive = Terminal.isTerminal(STDOUT_FILENO) && !isJSON && !isOnce
    if isLive { try Console.write(Array(Self.enter.utf8), to: STDOUT_FILENO) }
    defer { if isLive { try? Console.write(Array(Self.leave.utf8), to: STDOUT_FILENO) } }
    var earlier: GatewaySummary?
    var lookedAt = ContinuousClock.now
    while !Task.isCancelled {
      do {
        let now = ContinuousClock.now
        let later = try await look()
        // The first sample has no predecessor. On a terminal, its frame covers the time since the gateway's start.
        if earlier != nil || isLive {
          let passedMs = (now - lookedAt).wholeMilliseconds
          try show(TopFrame(from: earlier, to: later, intervalMs: passedMs, order: order), isLive: isLive)
          if isOnce { return }
        }
        lookedAt = now
        earlier = later
      } catch let error as RPCError where isLive && earlier != nil {
        try Console.write(Array("\u{1b}[H\u{1b}[2J\(Terminal.printable(error.message))\n".utf8), to: STDOUT_FILENO)
      }
      try await Task.sleep(for: .milliseconds(intervalMs))
    }
  }

  private func look() async throws -> GatewaySummary {
    let body = try await client.get("/admin/summary")
    do { return try JSONDecoder().decode(GatewaySummary.self, from: Data(body)) } catch {
      throw RPCError(
        .failedPrecondition, "the server is not a gateway of this version", reason: "OPERATOR_REFUSED")
    }
  }

  private func show(_ frame: TopFrame, isLive: Bool) throws {
    guard Terminal.isTerminal(STDOUT_FILENO), !isJSON else {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return try Console.writeLine(Terminal.printableJSON(try encoder.encode(frame)))
    }
    let size = Terminal.size(STDOUT_FILENO)
    let screen = TopScreen(
      width: size?.columns ?? 100, height: isLive ? size?.rows ?? 40 : .max,
      isColoured: Terminal.isColoured(descriptor: STDOUT_FILENO))
    let text = screen.lines(frame).joined(separator: isLive ? "\u{1b}[K\n" : "\n")
    // Overwrite the previous frame instead of clearing the screen, to avoid flicker.
    try Console.write(Array((isLive ? "\u{1b}[H\(text)\u{1b}[J" : text + "\n").utf8), to: STDOUT_FILENO)
  }
}
