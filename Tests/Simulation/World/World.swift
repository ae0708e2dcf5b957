import CampanileBase
import CampanileRPC
import Foundation
import NIOCore

/// The state shared by a run: time, randomness, events and violations.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class World: @unchecked Sendable {
  /// The wall clock at the start of each run.
  static let startMs: Int64 = 1_770_000_000_000

  let seed: UInt64
  let plant: Plant?
  let folder: String
  let loop = SimulatedLoop()
  let executor: LoopExecutor
  private let origin: NIODeadline
  private(set) var violations: [String] = []
  private(set) var checkCount = 0
  private(set) var eventCount = 0
  private(set) var faultCounts: [String: Int] = [:]
  /// A hash of all events and their times. The order of events at the same moment does not count: the suite's sets and
  /// dictionaries, which are unordered, determine it.
  private(set) var traceHash: UInt64 = 0xCBF2_9CE4_8422_2325
  private var momentHash: UInt64 = 0
  private var moment = NIODeadline.uptimeNanoseconds(0)
  /// The last events, for reports of violations.
  private(set) var lastEvents: [String] = []
  private(set) var keepsEvents = false

  /// Whether the run is over: violations no longer count.
  var isOver = false

  init(seed: UInt64, plant: Plant?, folder: String, keepsEvents: Bool) {
    (self.seed, self.plant, self.folder, self.keepsEvents) = (seed, plant, folder, keepsEvents)
    executor = LoopExecutor(loop)
    origin = loop.now
  }

  /// Milliseconds since the start of the run.
  var timeMs: Int64 { (loop.now - origin).nanoseconds / 1_000_000 }
  var wallMs: Int64 { Self.startMs + timeMs }

  /// Returns a separate source of randomness for each part, so that parts that act at the same moment do not influence
  /// each other.
  func chance(_ name: String) -> SplitMix64 { SplitMix64(seed: Self.hash(name, from: seed &* 0x9E37_79B9_7F4A_7C15)) }

  /// Returns the same source as a function, for the suite's code.
  func numbers(_ name: String) -> @Sendable () -> UInt64 {
    let source = Source(chance(name))
    return { source.chance.next() }
  }

  private final class Source: @unchecked Sendable {
    var chance: SplitMix64
    init(_ chance: SplitMix64) { self.chance = chance }
  }

  private static func mixed(_ value: UInt64) -> UInt64 {
    var generator = SplitMix64(seed: value)
    return generator.next()
  }

  private static func hash(_ text: String, from start: UInt64) -> UInt64 {
    var hash = start ^ 0xCBF2_9CE4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return hash
  }

  // MARK: events

  /// Records an event that happens at the same moment in every run of the seed.
  func saw(_ event: @autoclosure () -> String) {
    eventCount += 1
    let text = event()
    if moment != loop.now {
      traceHash = Self.mixed(traceHash ^ momentHash) &+ loop.now.uptimeNanoseconds
      (moment, momentHash) = (loop.now, 0)
    }
    momentHash &+= Self.hash(text, from: 0)
    if keepsEvents { lastEvents.append("\(timeMs) ms  \(text)") }
  }

  func fault(_ name: String) {
    faultCounts[name, default: 0] += 1
    saw("fault \(name)")
  }

  func check(_ isTrue: Bool, _ what: @autoclosure () -> String) {
    checkCount += 1
    guard !isTrue, !isOver, violations.count < 20 else { return }
    violations.append("at \(timeMs) ms: \(what())")
    saw("VIOLATION")
  }

  func task(_ body: @escaping @Sendable () async -> Void) { Task(executorPreference: executor) { await body() } }

  func after(ms: Int64, _ body: @escaping @Sendable () -> Void) { loop.scheduleTask(in: .milliseconds(ms), body) }

  /// Waits in simulated time.
  func sleep(ms: Int64) async {
    await withUnsafeContinuation { continuation in after(ms: ms) { continuation.resume() } }
  }

  // MARK: running

  /// Advances the time. Returns false if the work at one moment exceeds a limit, because the suite does not become
  /// idle.
  func run(ms: Int64) -> Bool {
    let end = loop.now + .milliseconds(ms)
    let stepsMax = loop.stepCount + 3_000_000
    while loop.step(until: end) { if loop.stepCount > stepsMax { return false } }
    return true
  }
}
