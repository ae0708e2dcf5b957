import Foundation
import SimulatedSuite

// Runs the simulation; see `scripts/simulate --help`.
//
//   simulation FIRST COUNT [--plant NAME] [--events]
//
// Exits with 1 if a seed has failed.

/// Prints a line without buffering.
func tell(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

let arguments = CommandLine.arguments
guard arguments.count >= 3, let first = UInt64(arguments[1]), let count = UInt64(arguments[2]), count > 0 else {
  let plants = Plant.allCases.map(\.rawValue).joined(separator: ", ")
  FileHandle.standardError.write(
    Data("usage: simulation FIRST COUNT [--plant NAME] [--events]; plants are \(plants)\n".utf8))
  exit(64)
}
let plant = arguments.firstIndex(of: "--plant").flatMap { index in
  index + 1 < arguments.count ? Plant(rawValue: arguments[index + 1]) : nil
}
let keepsEvents = arguments.contains("--events")
do {
  let simulator = try Simulator()
  let start = ContinuousClock.now
  var (events, checks, calls, faults, failed) = (0, 0, 0, 0, 0)
  var hashes: UInt64 = 0
  var kinds: [String: Int] = [:]
  var ends: [String: Int] = [:]
  for seed in first..<(first + count) {
    let report = try simulator.run(seed: seed, plant: plant, keepsEvents: keepsEvents)
    events += report.eventCount
    checks += report.checkCount
    calls += report.callCount
    faults += report.faultCounts.values.reduce(0, +)
    hashes = hashes &* 31 &+ report.traceHash
    kinds.merge(report.faultCounts) { $0 + $1 }
    ends.merge(report.endCounts) { $0 + $1 }
    if keepsEvents { for event in report.events { tell(event) } }
    if count == 1 {
      tell(
        "seed \(seed): trace \(String(report.traceHash, radix: 16)), \(report.stepCount) steps, \(report.virtualMs) ms")
    }
    guard !report.violations.isEmpty else { continue }
    failed += 1
    tell("seed \(seed) failed:")
    for violation in report.violations { tell("  \(violation)") }
    tell("  to repeat: scripts/simulate --seed \(seed)" + (plant.map { " --plant \($0.rawValue)" } ?? ""))
    if plant != nil { break }
  }
  tell("faults: " + kinds.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }.joined(separator: ", "))
  tell("ends: " + ends.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }.joined(separator: ", "))
  tell("traces: \(String(hashes, radix: 16))")
  let seconds = Int((ContinuousClock.now - start) / .seconds(1))
  tell(
    "\(count) seeds, \(calls) calls, \(events) events, \(checks) checks, \(faults) faults injected, \(failed) failed, \(seconds) s"
  )
  exit(failed == 0 ? 0 : 1)
} catch {
  FileHandle.standardError.write(Data("simulation: \(error)\n".utf8))
  exit(2)
}
