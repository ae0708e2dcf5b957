import Synchronization

/// Generates ids that ascend with time: a prefix and 22 characters of Crockford's base 32.
///
/// The first ten characters are the creation time in milliseconds, the other twelve 60 random bits. Within a
/// millisecond, or if the clock does not advance, the random part of the last id is increased. Every id of a generator
/// is therefore greater than the one before.
///
/// Processes on one database have clocks of their own. They pass the time of another's last object, which the next id
/// then exceeds.
public final class SortableIDGenerator: Sendable {
  /// The greatest difference between the clocks of two processes. A clock that is further ahead is considered wrong.
  package static let skewMaxMs: Int64 = 60_000
  /// The lead over the own clock up to which an id exceeds the time of another process's object. Beyond it, their
  /// times may be equal, so that processes that take turns very fast do not run ahead of the time.
  private static let leadMaxMs: Int64 = 5_000

  /// The time and the random part of the last id.
  private struct Last {
    var timeMs: Int64 = 0
    var tail: UInt64 = 0
  }

  private static let tailBits: UInt64 = 60
  fileprivate static let tailMax: UInt64 = (1 << tailBits) - 1

  private let clockMs: @Sendable () -> Int64
  fileprivate let random: @Sendable () -> UInt64
  private let last = Mutex(Last())

  public init(clockMs: @escaping @Sendable () -> Int64, random: @escaping @Sendable () -> UInt64) {
    self.clockMs = clockMs
    self.random = random
  }

  /// Returns a new id and the time inside it, which is the object's creation time.
  ///
  /// - Parameter foreignMs: The time of the last object of another process.
  public func next(prefix: StaticString, after foreignMs: Int64? = nil) -> (id: String, timeMs: Int64) {
    var nowMs = min(max(0, clockMs()), SortableID.timeMsMax)
    if let foreignMs, foreignMs >= nowMs, foreignMs - nowMs <= Self.skewMaxMs {
      nowMs = min(foreignMs - nowMs < Self.leadMaxMs ? foreignMs + 1 : foreignMs, SortableID.timeMsMax)
    }
    let chance = random()
    let value = last.withLock { last in
      if nowMs > last.timeMs {
        last = Last(timeMs: nowMs, tail: chance & Self.tailMax)
      } else {
        // A random step keeps the next id unpredictable.
        let step = 1 + chance & 0xFFFFF
        if last.tail > Self.tailMax - step {
          last = Last(timeMs: last.timeMs + 1, tail: chance & (Self.tailMax >> 1))
        } else {
          last.tail += step
        }
      }
      return last
    }
    return (SortableID.text(prefix: prefix, timeMs: value.timeMs, tail: value.tail), value.timeMs)
  }
}

extension SortableIDGenerator {
  /// Returns an id for an object that begins at a future time. Two ids of the same future time are not ordered.
  public func future(prefix: StaticString, timeMs: Int64) -> String {
    SortableID.text(prefix: prefix, timeMs: min(max(0, timeMs), SortableID.timeMsMax), tail: random() & Self.tailMax)
  }
}

/// The text format of sortable ids.
public enum SortableID {
  /// The end of the year 9999.
  public static let timeMsMax: Int64 = 253_402_300_799_999
  /// The size of an id including its prefix.
  public static let sizeBytes = 24

  /// Ascending in ASCII, without i, l, o and u.
  public static let alphabet: [UInt8] = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

  public static func text(prefix: StaticString, timeMs: Int64, tail: UInt64) -> String {
    String(unsafeUninitializedCapacity: sizeBytes) { buffer in
      write(prefix, timeMs, to: buffer)
      for index in 0..<12 {
        buffer[12 + index] = alphabet[Int(truncatingIfNeeded: (tail >> UInt64(55 - 5 * index)) & 31)]
      }
      return sizeBytes
    }
  }

  /// Returns the prefix of all ids of a time. Ids of that time and later are greater; earlier ones are less.
  public static func lowerBound(prefix: StaticString, timeMs: Int64) -> String {
    String(unsafeUninitializedCapacity: 12) { buffer in
      write(prefix, min(max(0, timeMs), timeMsMax), to: buffer)
      return 12
    }
  }

  private static func write(_ prefix: StaticString, _ timeMs: Int64, to buffer: UnsafeMutableBufferPointer<UInt8>) {
    buffer[0] = prefix.utf8Start[0]
    buffer[1] = prefix.utf8Start[1]
    let bits = UInt64(truncatingIfNeeded: timeMs)
    for index in 0..<10 {
      buffer[2 + index] = alphabet[Int(truncatingIfNeeded: (bits >> UInt64(45 - 5 * index)) & 31)]
    }
  }
}
