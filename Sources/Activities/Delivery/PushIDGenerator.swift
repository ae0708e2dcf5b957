import Synchronization

/// Generates `apns-id`s: canonical UUIDs of version 7 (RFC 9562 section 5.7).
///
/// Each id is greater than the previous ones. Ids therefore sort a lane by queue order and the delivery log by time.
final class PushIDGenerator: Sendable {
  private struct Last {
    var timeMs: UInt64 = 0
    var tail: UInt64 = 0
  }

  /// Of the 74 bits not used for time, version and variant, 62 are used; twelve stay zero.
  private static let tailMax: UInt64 = (1 << 62) - 1
  private static let timeMsMax: UInt64 = (1 << 48) - 1

  private let nowMs: @Sendable () -> Int64
  private let random: @Sendable () -> UInt64
  private let last = Mutex(Last())

  init(nowMs: @escaping @Sendable () -> Int64, random: @escaping @Sendable () -> UInt64) {
    self.nowMs = nowMs
    self.random = random
  }

  /// Returns a new id. It is also greater than `previous`, which an earlier process may have generated with a faster
  /// clock.
  func next(after previous: String? = nil) -> String {
    let chance = random()
    let clockMs = UInt64(max(0, min(nowMs(), Int64(Self.timeMsMax))))
    let floorMs = previous.flatMap(Self.timeMs) ?? 0
    let value = last.withLock { last in
      // The tail of another process's id is unknown, so only the next millisecond is certain to be greater.
      let nowMs = max(clockMs, floorMs >= clockMs && previous != nil && floorMs >= last.timeMs ? floorMs + 1 : 0)
      if nowMs > last.timeMs {
        last = Last(timeMs: nowMs, tail: chance & (Self.tailMax >> 1))
      } else if last.tail > Self.tailMax - 0x1_0000_0000 {
        last = Last(timeMs: last.timeMs + 1, tail: chance & (Self.tailMax >> 1))
      } else {
        last.tail += 1 + chance & 0xFFFF_FFFF
      }
      return last
    }
    return Self.text(timeMs: value.timeMs, tail: value.tail)
  }

  /// Returns the smallest id of a time, for deleting and listing by age.
  static func lowerBound(timeMs: Int64) -> String {
    text(timeMs: UInt64(max(0, min(timeMs, Int64(timeMsMax)))), tail: 0)
  }

  /// Returns the time contained in an id, or nil for other text.
  static func timeMs(_ id: String) -> UInt64? {
    guard id.utf8.count == 36 else { return nil }
    return UInt64(id.prefix(8) + id.dropFirst(9).prefix(4), radix: 16)
  }

  /// Formats an id. Twelve of the 62 bits of `tail` precede the variant, so that ids sort like their tails.
  private static func text(timeMs: UInt64, tail: UInt64) -> String {
    let high = timeMs << 16 | 0x7000 | (tail >> 50) & 0xFFF
    let low = 0x8000_0000_0000_0000 | (tail & 0x3_FFFF_FFFF_FFFF) << 12
    return String(unsafeUninitializedCapacity: 36) { buffer in
      var position = 0
      for index in 0..<32 {
        if index == 8 || index == 12 || index == 16 || index == 20 {
          buffer[position] = UInt8(ascii: "-")
          position += 1
        }
        let word = index < 16 ? high : low
        let digit = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (index & 15)) & 15)
        buffer[position] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
        position += 1
      }
      return 36
    }
  }
}
