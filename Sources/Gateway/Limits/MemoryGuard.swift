import Synchronization

/// How near the process is to the memory that it may use. It comes back to a lower step only some way below the one where it rose, so
/// that it does not waver.
struct MemoryPressure: Sendable, Hashable {
  enum Level: Int, Sendable, Hashable {
    case none
    /// What may wait has to: bulk calls and new streams.
    case tight
    /// Nothing more is taken.
    case full
  }

  private(set) var level = Level.none

  /// - Parameter bytesMax: 0 for as much as there is.
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

/// Refuses work while the process uses more memory than it may. Safe from any thread.
final class MemoryGuard: Sendable {
  /// How often the memory is looked at.
  static let checkMs: Int64 = 250

  private let probe: MemoryProbe
  private let bytesMax: Atomic<Int>
  private let pressure = Mutex(MemoryPressure())
  private let level = Atomic<Int>(0)

  /// - Parameter bytesMax: 0 for as much as there is.
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

  /// Looks at the memory. Answers whether the level has changed.
  @discardableResult
  func look() -> Bool {
    let bytesMax = bytesMax.load(ordering: .relaxed)
    guard bytesMax > 0 || isTight, var bytes = probe.residentBytes() else { return false }
    // What is free and still held by the allocator is not needed by anybody.
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

/// How much memory the process has, and how it gives back what it does not need.
public struct MemoryProbe: Sendable {
  /// `nil` where the system does not tell.
  public var residentBytes: @Sendable () -> Int?
  public var release: @Sendable () -> Void

  public init(residentBytes: @escaping @Sendable () -> Int?, release: @escaping @Sendable () -> Void = {}) {
    self.residentBytes = residentBytes
    self.release = release
  }
}
