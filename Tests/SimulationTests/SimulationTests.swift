import SimulatedSuite
import Testing

/// Runs the suite's code in simulations determined by a seed. To repeat a failing seed, run `scripts/simulate --seed
/// N`.
@Suite struct SimulationTests {
  @Test func manySeedsFindNothing() throws {
    let simulator = try Simulator()
    var faultCount = 0
    for seed in UInt64(1)...300 {
      let report = try simulator.run(seed: seed)
      faultCount += report.faultCounts.values.reduce(0, +)
      #expect(report.violations.isEmpty, "scripts/simulate --seed \(seed)")
    }
    // A simulation without faults would find nothing either.
    #expect(faultCount > 300 * 10)
  }

  @Test func aSeedRunsTheSameEachTime() throws {
    let simulator = try Simulator()
    var hashes: Set<UInt64> = []
    for seed in UInt64(1)...5 {
      let report = try simulator.run(seed: seed)
      let again = try simulator.run(seed: seed)
      #expect(report.traceHash == again.traceHash && report.eventCount == again.eventCount, "seed \(seed)")
      // A new simulator has different files and keys.
      #expect(try Simulator().run(seed: seed).traceHash == report.traceHash, "seed \(seed)")
      hashes.insert(report.traceHash)
    }
    #expect(hashes.count == 5)
  }

  @Test(arguments: Plant.allCases)
  func aPlantedFaultIsFound(_ plant: Plant) throws {
    let simulator = try Simulator()
    for seed in UInt64(1)...1_000 where try !simulator.run(seed: seed, plant: plant).violations.isEmpty { return }
    Issue.record("1,000 seeds do not detect \(plant)")
  }
}
