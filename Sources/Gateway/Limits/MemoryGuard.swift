import Synchronization

/// The memory pressure of the process. The level falls only well below the threshold at which it rises, to prevent
/// oscillation.
struct MemoryPressure: Sendable, Hashable {
  enum Level: Int, Sendable, Hashable {
    case none
    /// Bulk calls and new streams are refused.
    case tight
    /// All calls are refused, except those of the operator's own programs.
    case full
  }

  private(set) var level = Level.none

  /// - Parameter bytesMax: 0 for no limit.
  mutating func update(residentBytes: Int, bytesMax: Int) {
    guard bytesMax > 0 else { return level = .none }
    let percent = Double(residentBytes) / Double(bytesMax) * 100
    switch level {
    case .none: level = percent >= 100 ? .full : percent >= 85 ? .tight : .none
    case .tight: level = percent >= 100 ? .full : percent < 80 ? .none : .tight
    case .full: level = percent >= 95 ? .full : percent < 80 ? .none : .tight
    }
  }
}

/// Refuses work while the process uses more memory than its limit. Thread-safe.
final class MemoryGuard: Sendable {
  /// The interval between checks.
  static let checkMs: Int64 = 250

  private let probe: MemoryProbe
  private let bytesMax: Atomic<Int>
  private let pressure = Mutex(MemoryPressure())
  private let level = Atomic<Int>(0)

  /// - Parameter bytesMax: 0 for no limit.
  init(bytesMax: Int, probe: MemoryProbe) {
    self.bytesMax = Atomic(bytesMax)
    self.probe = probe
  }

  var residentBytes: Int? { probe.residentBytes() }
  var limit: Int? {
    let bytes = bytesMax.load(ordering: .relaxed)
    return bytes > 0 ? bytes : nil
  }
  @inline(__always) var isTight: Bool { level.load(ordering: .relaxed) > 0 }
  @inline(__always) var isFull: Bool { level.load(ordering: .relaxed) > 1 }
  var levelName: String { "\(pressure.withLock { $0.level })" }

  func set(bytesMax: Int) { self.bytesMax.store(bytesMax, ordering: .relaxed) }

  /// Checks the memory. Returns whether the level has changed.
  @discardableResult
  func look() -> Bool {
    let bytesMax = bytesMax.load(ordering: .relaxed)
    guard bytesMax > 0 || isTight, var bytes = probe.residentBytes() else { return false }
    // Return the allocator's free memory to the system before judging the rest.
    if bytesMax > 0, Double(bytes) >= Double(bytesMax) * 0.8 {
      probe.release()
      bytes = probe.residentBytes() ?? bytes
    }
    return pressure.withLock { pressure in
      let before = pressure.level
      pressure.update(residentBytes: bytes, bytesMax: bytesMax)
      level.store(pressure.level.rawValue, ordering: .relaxed)
      return pressure.level != before
    }
  }
}

/// Reads the memory usage of the process, and releases unused memory.
public struct MemoryProbe: Sendable {
  /// Returns `nil` if the system does not report it.
  public var residentBytes: @Sendable () -> Int?
  public var release: @Sendable () -> Void

  public init(residentBytes: @escaping @Sendable () -> Int?, release: @escaping @Sendable () -> Void = {}) {
    self.residentBytes = residentBytes
    self.release = release
  }
}
