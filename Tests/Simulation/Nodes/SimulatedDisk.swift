import CampanileBase
import CampanileRPC
import CampanileStore
import NIOCore

/// The disk and the writer thread of one process: decides when commits happen and whether they succeed.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class SimulatedDisk: WriterStage, @unchecked Sendable {
  private let world: World
  private let name: String
  private var chance: SplitMix64
  /// Whether faults are currently injected.
  private let isFaulty: () -> Bool
  /// Crashes the process.
  private let crash: () -> Void

  init(_ world: World, name: String, isFaulty: @escaping () -> Bool, crash: @escaping () -> Void) {
    (self.world, self.name, self.isFaulty, self.crash) = (world, name, isFaulty, crash)
    chance = world.chance("disk \(name)")
  }

  func schedule(_ work: @escaping @Sendable () -> Void) {
    var delayUs = 100 + chance.below(2_000)
    if isFaulty(), chance.oneIn(15) {
      world.fault("slow disk")
      delayUs += chance.below(80_000)
    }
    world.loop.scheduleTask(in: .microseconds(Int64(delayUs)), work)
  }

  func willCommit() throws(StoreError) {
    guard isFaulty(), chance.oneIn(15) else { return }
    world.fault("failed commit")
    throw StoreError(.unavailable, "the disk failed", engineCode: "10")
  }

  func didCommit() throws(StoreError) {
    world.saw("commit \(name)")
    guard isFaulty() else { return }
    if chance.oneIn(25) {
      world.fault("commit with an unknown outcome")
      throw StoreError(.unavailable, "the disk failed", engineCode: "10")
    }
    if chance.oneIn(40) {
      world.fault("crash after a commit")
      crash()
    }
  }
}
