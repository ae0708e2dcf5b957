import Synchronization

/// Makes ids that sort by the time they were made at: 48 bits of milliseconds, 16 that count within one, 64 random ones,
/// written as 22 characters of an alphabet in ASCII order, behind a prefix that tells the kind.
///
/// Ids of one generator ascend strictly, also when the clock stands still or goes back.
public final class EntityIDGenerator: Sendable {
  private struct State {
    var ms: UInt64 = 0
    var count: UInt64 = 0
  }
  private let state = Mutex(State())
  private let nowMs: @Sendable () -> Int64
  private let random: @Sendable () -> UInt64

  public init(nowMs: @escaping @Sendable () -> Int64, random: @escaping @Sendable () -> UInt64) {
    self.nowMs = nowMs
    self.random = random
  }

  public func next(_ kind: EntityKind) -> String {
    let now = UInt64(max(0, nowMs()))
    let high = state.withLock { state -> UInt64 in
      if now > state.ms {
        state = State(ms: now)
      } else {
        state.count += 1
        if state.count > 0xFFFF { state = State(ms: state.ms + 1) }
      }
      return state.ms << 16 | state.count
    }
    return EntityID.text(kind, high: high, low: random())
  }
}

public enum EntityKind: String, Sendable {
  case notification = "n_"
  case bucket = "b_"
}

enum EntityID {
  /// 64 characters in the order of their codes.
  private static let alphabet = Array("-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz".utf8)
  static let characterCount = 24

  static func text(_ kind: EntityKind, high: UInt64, low: UInt64) -> String {
    var bytes = Array(kind.rawValue.utf8)
    bytes.reserveCapacity(characterCount)
    // 128 bits are 21 times six and two more, which lead.
    var rest = (high, low)
    var digits: [UInt8] = []
    for _ in 0..<22 {
      digits.append(alphabet[Int(rest.1 & 63)])
      rest.1 = rest.1 >> 6 | rest.0 << 58
      rest.0 >>= 6
    }
    bytes.append(contentsOf: digits.reversed())
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The smallest id that can be made at a time or later: the bound for a search by time.
  static func lowerBound(_ kind: EntityKind, ms: Int64) -> String {
    text(kind, high: UInt64(max(0, min(ms, 1 << 47))) << 16, low: 0)
  }
}
