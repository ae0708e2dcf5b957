import CampanileRPC
import Foundation
import NIOCore

/// All that one run shares: time, chance, what was seen, and what must not have happened.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class World: @unchecked Sendable {
  /// The wall clock at the beginning of each run.
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
  /// Of all events and their times. Those of one moment count without their order: sets and dictionaries of the suite's code, which
  /// have none, decide it.
  private(set) var traceHash: UInt64 = 0xCBF2_9CE4_8422_2325
  private var momentHash: UInt64 = 0
  private var moment = NIODeadline.uptimeNanoseconds(0)
  /// The last events, told where something is wrong.
  private(set) var lastEvents: [String] = []
  private(set) var keepsEvents = false

  /// Nothing is judged any more.
  var isOver = false

  init(seed: UInt64, plant: Plant?, folder: String, keepsEvents: Bool) {
    (self.seed, self.plant, self.folder, self.keepsEvents) = (seed, plant, folder, keepsEvents)
    executor = LoopExecutor(loop)
    origin = loop.now
  }

  /// Milliseconds since the beginning.
  var timeMs: Int64 { (loop.now - origin).nanoseconds / 1_000_000 }
  var wallMs: Int64 { Self.startMs + timeMs }

  /// Chance of its own for each part, so that parts that act at the same moment do not take each other's.
  func chance(_ name: String) -> SplitMix64 { SplitMix64(seed: Self.hash(name, from: seed &* 0x9E37_79B9_7F4A_7C15)) }

  /// The same as a function that the suite's code can be given.
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

  // MARK: what happens

  /// Something that every run of the seed sees at the same moment.
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

  /// Waits in the simulation's time.
  func sleep(ms: Int64) async {
    await withUnsafeContinuation { continuation in after(ms: ms) { continuation.resume() } }
  }

  // MARK: running

  /// Lets so much time pass. False when more was to be done at one moment than can be meant.
  func run(ms: Int64) -> Bool {
    let end = loop.now + .milliseconds(ms)
    let stepsMax = loop.stepCount + 3_000_000
    while loop.step(until: end) { if loop.stepCount > stepsMax { return false } }
    return true
  }
}
