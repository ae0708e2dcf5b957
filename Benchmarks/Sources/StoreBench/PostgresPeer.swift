import Foundation
import Subprocess

/// PostgreSQL 15 with the same insert, set up and stopped by a script.
struct PostgresPeer {
  let baseDirectory: String
  let clients: Int
  let seconds: Int

  /// Returns the transactions per second of one round; nil if the script failed, with the reason on standard error.
  func rate(_ order: InsertBench.Order) async throws -> Double? {
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Peers/postgres-insert").standardized.path
    // Not Foundation's Process: its child processes inherit blocked signals, and pgbench ends its run with SIGALRM.
    let result = try await Subprocess.run(
      .name("bash"), arguments: [script, baseDirectory, "\(clients)", "\(seconds)", "1", order.rawValue],
      output: .string(limit: 4_096), error: .currentStandardError)
    guard result.terminationStatus.isSuccess else { return nil }
    return Double(result.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines))
  }
}
