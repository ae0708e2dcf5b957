/// A fairness policy for one event loop. A connection that brings many frames at once has a few of them served, then
/// yields to the other ready connections.
///
/// It applies only while another connection of the loop has few calls in flight, and so waits for each. Turns cost
/// extra writes, and connections that all bring many frames gain nothing from them.
struct ReadTurns {
  /// The maximum number of frames in a read of a connection that waits for each call.
  static let shortFramesMax = 4
  /// The number of frames per turn.
  static let turnFrames = 16
  /// The time for which a short read is remembered: longer than the interval between two calls.
  static let rememberedNs: UInt64 = 10_000_000

  private var connection: ObjectIdentifier?
  private var atNs: UInt64 = 0

  /// Returns the number of frames of this connection that may be served now.
  @inline(__always)
  func framesMax(for reader: ObjectIdentifier, nowNs: UInt64) -> Int {
    guard let connection, connection != reader, nowNs &- atNs < Self.rememberedNs else { return .max }
    return Self.turnFrames
  }

  /// Records that all frames received from a connection have been served.
  @inline(__always)
  mutating func served(frames: Int, of reader: ObjectIdentifier, nowNs: UInt64) {
    guard frames > 0, frames <= Self.shortFramesMax else { return }
    connection = reader
    atNs = nowNs
  }
}
