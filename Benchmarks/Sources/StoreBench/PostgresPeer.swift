import Foundation
import Subprocess

/// PostgreSQL 15 doing the same insert, set up and ended by a script.
struct PostgresPeer {
  let baseDirectory: String
  let clients: Int
  let seconds: Int

  /// Transactions a second of one round; nil when the script could not measure (it says why on standard error).
  func rate(_ order: InsertBench.Order) async throws -> Double? {
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Peers/postgres-insert").standardized.path
    // Not Foundation's Process: its children inherit blocked signals, and pgbench ends its run by SIGALRM.
    let result = try await Subprocess.run(
      .name("bash"), arguments: [script, baseDirectory, "\(clients)", "\(seconds)", "1", order.rawValue],
      output: .string(limit: 4_096), error: .currentStandardError)
    guard result.terminationStatus.isSuccess else { return nil }
    return Double(result.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines))
  }
}
