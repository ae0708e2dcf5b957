import CampanileRPC

/// The memory settings of a process, whose defaults come from its control group.
public enum MemoryConfiguration {
  public static let maxMemoryBytes = "max-memory-bytes"
  public static let maxWaitingBytes = "max-waiting-bytes"

  /// Percentage of the control group's limit, below 100 so that the process sheds load before the system kills it.
  static let percentOfGroup = 85
  /// The budgets for waiting bytes: the default without a memory limit, and the minimum with one.
  static let waitingBytesDefault = 64 << 20
  static let waitingBytesMin = 16 << 20

  static let all: [Setting] = [
    .int(
      maxMemoryBytes, in: 0...(1 << 44),
      help:
        "maximum memory of the process, by which a gateway sheds load; 0 for no limit (default: \(percentOfGroup) % of the control group's limit)"
    ),
    .int(
      maxWaitingBytes, in: (1 << 20)...(1 << 40),
      help:
        "maximum bytes of unfinished requests, and of unread responses, of all callers; a quarter of it per caller (default: 1/8 of \(maxMemoryBytes), at least 16 MiB; 64 MiB without a limit)"
    ),
  ]

  /// Returns the maximum memory of the process in bytes; 0 for no limit.
  public static func memoryBytesMax(_ settings: Settings) throws(ConfigurationError) -> Int {
    try memoryBytesMax(settings, ControlGroup())
  }

  static func memoryBytesMax(_ settings: Settings, _ group: ControlGroup) throws(ConfigurationError) -> Int {
    if let bytes = try settings.optionalInt(maxMemoryBytes) { return bytes }
    return group.memoryBytesMax.map { $0 / 100 * percentOfGroup } ?? 0
  }

  /// Creates a budget of the configured size.
  static func budget(
    _ settings: Settings, _ group: ControlGroup = ControlGroup()
  ) throws(ConfigurationError) -> WaitingBytesBudget {
    let memoryBytes = try memoryBytesMax(settings, group)
    let derived = memoryBytes > 0 ? max(waitingBytesMin, memoryBytes / 8) : waitingBytesDefault
    return .standard(totalBytesMax: try settings.optionalInt(maxWaitingBytes) ?? derived)
  }
}
