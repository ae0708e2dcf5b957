/// Counts failed logins by name and by address, and says how long to wait. A state machine without a clock of its own.
///
/// An attempt is counted before it is judged, so that attempts at the same time cannot pass together; a success takes it
/// back. Names that nobody has are counted like others.
struct LoginThrottle: Sendable {
  /// Failures of one name within the window.
  var perNameMax = 5
  /// Failures from one address within the window: several members share one.
  var perAddressMax = 30
  var windowMs: Int64 = 15 * 60 * 1_000
  /// Names and addresses that are remembered; the one that was quiet for longest is forgotten for a new one.
  var keysMax = 10_000

  private enum Key: Hashable {
    case name(String)
    case address(String)
  }
  private var attempts: [Key: [Int64]] = [:]

  init() {}

  /// Counts an attempt. Answers nil when it may go on, else how many milliseconds to wait; then it was not counted.
  mutating func begin(name: String, address: String?, nowMs: Int64) -> Int64? {
    var keys: [(Key, Int)] = [(.name(name), perNameMax)]
    if let address { keys.append((.address(address), perAddressMax)) }
    var waitMs: Int64 = 0
    for (key, most) in keys {
      let recent = (attempts[key] ?? []).filter { $0 > nowMs - windowMs && $0 <= nowMs }
      attempts[key] = recent.isEmpty ? nil : recent
      if recent.count >= most, let first = recent.first { waitMs = max(waitMs, first + windowMs - nowMs) }
    }
    if waitMs > 0 { return waitMs }
    for (key, _) in keys {
      if attempts[key] == nil, attempts.count >= keysMax { forgetOldest() }
      attempts[key, default: []].append(nowMs)
    }
    return nil
  }

  /// The attempt was right: the name begins anew, the address gets its attempt back.
  mutating func succeeded(name: String, address: String?) {
    attempts[.name(name)] = nil
    if let address { removeLast(.address(address)) }
  }

  /// The attempt was not judged: nobody has tried anything.
  mutating func withdraw(name: String, address: String?) {
    removeLast(.name(name))
    if let address { removeLast(.address(address)) }
  }

  private mutating func removeLast(_ key: Key) {
    guard attempts[key]?.popLast() != nil else { return }
    if attempts[key]?.isEmpty == true { attempts[key] = nil }
  }

  var keyCount: Int { attempts.count }

  private mutating func forgetOldest() {
    guard let oldest = attempts.min(by: { ($0.value.last ?? 0) < ($1.value.last ?? 0) })?.key else { return }
    attempts[oldest] = nil
  }
}
