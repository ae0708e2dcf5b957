/// Who shares an event loop by turns: a connection that brings many frames at once has a few of them served, then the others that
/// are ready, then the next few.
///
/// Only while somebody else on the loop has few calls under way, and so waits for each: turns cost writes, and among connections
/// that all bring many nobody gains by them.
struct ReadTurns {
  /// A read with so many frames is one of somebody who waits for each.
  static let shortFramesMax = 4
  /// How many frames a turn has.
  static let turnFrames = 16
  /// How long a short read is remembered: longer than a call and the next one take.
  static let rememberedNs: UInt64 = 10_000_000

  private var connection: ObjectIdentifier?
  private var atNs: UInt64 = 0

  /// How many frames of this connection may be served now.
  @inline(__always)
  func framesMax(for reader: ObjectIdentifier, nowNs: UInt64) -> Int {
    guard let connection, connection != reader, nowNs &- atNs < Self.rememberedNs else { return .max }
    return Self.turnFrames
  }

  /// All frames that a connection brought have been served.
  @inline(__always)
  mutating func served(frames: Int, of reader: ObjectIdentifier, nowNs: UInt64) {
    guard frames > 0, frames <= Self.shortFramesMax else { return }
    connection = reader
    atNs = nowNs
  }
}
