import CampanileAPI
import CampanileCodec
import Foundation
import Synchronization
import TestMessages
import Testing

/// A comparison of the codec with swift-protobuf, on random messages and on texts derived from them.
///
/// `CAMPANILE_TEST_SEED` repeats a run, and `CAMPANILE_TEST_INDEX` repeats one message of it. `CAMPANILE_TEST_MESSAGES`
/// is the number of messages for each test (default: 60,000).
@Suite struct OracleTests {
  private static let seed: UInt64 =
    ProcessInfo.processInfo.environment["CAMPANILE_TEST_SEED"].flatMap(UInt64.init) ?? .random(in: 0...(.max))
  private static let indexes: Range<Int> = {
    let environment = ProcessInfo.processInfo.environment
    if let index = environment["CAMPANILE_TEST_INDEX"].flatMap(Int.init) { return index..<(index + 1) }
    return 0..<(environment["CAMPANILE_TEST_MESSAGES"].flatMap(Int.init) ?? 60_000)
  }()
  private static let reportsMax = 20

  @Test func randomMessagesSurviveBothCodecs() async throws {
    let random = try RandomMessage(descriptorSets: [TestDescriptorSet.serializedBytes, DescriptorSet.serializedBytes])
    try await run("random messages") { oracle, generator in
      oracle.roundTrip(random.make("." + oracle.name, &generator))
    }
  }

  @Test func bothCodecsJudgeMutatedTextsAlike() async throws {
    let random = try RandomMessage(descriptorSets: [TestDescriptorSet.serializedBytes, DescriptorSet.serializedBytes])
    try await run("mutated texts") { oracle, generator in
      let wire = random.make("." + oracle.name, &generator)
      let json = oracle.json(wire, generator.oneIn(2))
      return oracle.compare(Mutation.apply(to: json, &generator))
    }
  }

  /// The oracle traps when it writes a message read from these texts; see `IntendedDifferences.oracleWouldTrap`.
  @Test(arguments: ["4294967296", "-2147483649", "9223372036854775807", "2147483648"])
  func textsThatTrapTheOracleAreJudgedWithoutIt(number: String) throws {
    try #require(Oracle.registered)
    let oracle = try #require(Oracle.all.first { $0.name == WellKnown.protoFullName })
    let held = #"{"@type":"type.googleapis.com/campanile.testing.v1.Scalars","color":\#(number)}"#
    #expect(oracle.compare(Array(#"{"any":\#(held)}"#.utf8)) == nil)
    let any = try ProtoAny(jsonString: held)
    #expect(throws: ProtoJSONError.self) { try any.unpack(as: Scalars.self) }
  }

  /// The largest multiple of ten that 64 bits hold. The oracle refuses it, because a double rounds it.
  @Test func integerWithExponentNearTheLimitIsExact() throws {
    let text = #"{"fixed64s":["1844674407370955161e1"]}"#
    #expect(try RepeatedFields(jsonString: text).fixed64s == [18_446_744_073_709_551_610])
    let oracle = try #require(Oracle.all.first { $0.name == RepeatedFields.protoFullName })
    #expect(oracle.compare(Array(text.utf8)) == nil)
    #expect(oracle.compare(Array(#"{"fixed64s":["1844674407370955162e1"]}"#.utf8)) == nil)
  }

  /// Runs `check` for every index on all cores, with a generator for each index, and reports the first failures.
  private func run(
    _ what: String, _ check: @escaping @Sendable (Oracle, inout SeededGenerator) -> String?
  ) async throws {
    try #require(Oracle.registered)
    print("\(what): \(Self.indexes.count) with CAMPANILE_TEST_SEED=\(Self.seed)")
    let reports = Reports()
    let workers = max(1, ProcessInfo.processInfo.activeProcessorCount)
    await withDiscardingTaskGroup { group in
      for worker in 0..<workers {
        group.addTask {
          for index in Self.indexes where index % workers == worker {
            var generator = SeededGenerator(seed: Self.seed, index: index)
            let oracle = Oracle.all[index % Oracle.all.count]
            guard let report = check(oracle, &generator) else { continue }
            let place = "CAMPANILE_TEST_SEED=\(Self.seed) CAMPANILE_TEST_INDEX=\(index) \(oracle.name)"
            if reports.add("\(place): \(report)") >= Self.reportsMax { return }
          }
        }
      }
    }
    for report in reports.all { Issue.record("\(report)") }
  }
}

/// The failures that the workers of a run found.
private final class Reports: Sendable {
  private let texts = Mutex<[String]>([])

  var all: [String] { texts.withLock { $0 } }

  /// Adds a failure and returns the number of failures so far.
  func add(_ text: String) -> Int {
    texts.withLock {
      $0.append(text)
      return $0.count
    }
  }
}
