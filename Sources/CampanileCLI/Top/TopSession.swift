internal import CampanileRPC
internal import Foundation

/// Looks at a gateway again and again, and shows what happened in between.
struct TopSession: Sendable {
  var client: OperatorClient
  var intervalMs: Int64
  var order: TopFrame.Order
  /// One interval is shown, and that is it.
  var isOnce: Bool
  /// JSON also where the output is a terminal.
  var isJSON: Bool

  private static let enter = "\u{1b}[?1049h\u{1b}[?25l"
  private static let leave = "\u{1b}[?25h\u{1b}[?1049l"

  /// Until the task is cancelled. Throws what `OperatorClient` throws; on a terminal a gateway that goes away is waited for.
  func run() async throws {
    let isLive = Terminal.isTerminal(STDOUT_FILENO) && !isJSON && !isOnce
    if isLive { try Console.write(Array(Self.enter.utf8), to: STDOUT_FILENO) }
    defer { if isLive { try? Console.write(Array(Self.leave.utf8), to: STDOUT_FILENO) } }
    var earlier: OperationSummary?
    var lookedAt = ContinuousClock.now
    while !Task.isCancelled {
      do {
        let now = ContinuousClock.now
        let later = try await look()
        // The first look has nothing to be compared with: on a terminal it shows everything since the start.
        if earlier != nil || isLive {
          let passedMs = Self.milliseconds(now - lookedAt)
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

  private func look() async throws -> OperationSummary {
    let body = try await client.get("/admin/summary")
    do { return try JSONDecoder().decode(OperationSummary.self, from: Data(body)) } catch {
      throw RPCError(.failedPrecondition, "what answers is no gateway of this version", reason: "OPERATOR_REFUSED")
    }
  }

  private func show(_ frame: TopFrame, isLive: Bool) throws {
    guard Terminal.isTerminal(STDOUT_FILENO), !isJSON else {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return try Console.writeLine(Array(try encoder.encode(frame)))
    }
    let size = Terminal.size(STDOUT_FILENO)
    let screen = TopScreen(
      width: size?.columns ?? 100, height: isLive ? size?.rows ?? 40 : .max,
      isColoured: Terminal.isColoured(descriptor: STDOUT_FILENO))
    let text = screen.lines(frame).joined(separator: isLive ? "\u{1b}[K\n" : "\n")
    // Drawn over what stands there, so that nothing flickers.
    try Console.write(Array((isLive ? "\u{1b}[H\(text)\u{1b}[J" : text + "\n").utf8), to: STDOUT_FILENO)
  }

  private static func milliseconds(_ duration: Duration) -> Int64 {
    duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
  }
}
