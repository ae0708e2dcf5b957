/// Checks chunk by chunk that a text is one of the two known containers, and counts its records.
///
/// Includes every check of `JSONValidator`, so one pass is enough. Running a validator as well costs a second pass.
/// Memory: a few kilobytes plus about 16 bytes per record for its id; `recordsMax` bounds the number of records.
public struct ContainerCheck: Sendable {
  /// Limits for a container.
  public struct Limits: Sendable, Hashable {
    /// Maximum number of records.
    public var recordsMax: Int
    /// The limits of its text. Duplicate names are not reported: the last one counts.
    public var text: JSONLimits

    public init(recordsMax: Int = 250_000, text: JSONLimits = .init()) {
      self.recordsMax = max(recordsMax, 0)
      self.text = text
    }
  }

  /// The facts that a successful check returns.
  public struct Summary: Sendable, Hashable {
    public var recordCount: Int
    /// The container's `syncTimestamp`, verbatim.
    public var syncTimestamp: String
    public var sizeBytes: Int64

    public init(recordCount: Int, syncTimestamp: String, sizeBytes: Int64) {
      self.recordCount = recordCount
      self.syncTimestamp = syncTimestamp
      self.sizeBytes = sizeBytes
    }
  }

  private var scanner: JSONScanner<ContainerSink>

  public init(_ container: Container, limits: Limits = .init()) {
    scanner = JSONScanner(
      limits: limits.text, sink: ContainerSink(container: container, recordsMax: limits.recordsMax))
  }

  /// The number of records so far.
  public var recordCount: Int { scanner.sink.recordCount }

  /// Reads the next bytes.
  ///
  /// - Throws: `ContainerError` at the first invalid value; every later call throws the same error.
  public mutating func update(_ bytes: UnsafeRawBufferPointer) throws(ContainerError) {
    do {
      try scanner.update(bytes)
    } catch {
      throw scanner.sink.failure ?? Self.syntax(error, scanner.sink.currentPath)
    }
    if let failure = scanner.sink.failure { throw failure }
  }

  /// Ends the text.
  ///
  /// - Throws: `syntax` if the text is incomplete.
  public mutating func finish() throws(ContainerError) -> Summary {
    if let failure = scanner.sink.failure { throw failure }
    let summary: JSONSummary
    do {
      summary = try scanner.finish()
    } catch {
      throw Self.syntax(error, scanner.sink.currentPath)
    }
    if let failure = scanner.sink.failure { throw failure }
    return Summary(
      recordCount: scanner.sink.recordCount, syncTimestamp: scanner.sink.syncTimestamp, sizeBytes: summary.sizeBytes)
  }

  private static func syntax(_ error: JSONSyntaxError, _ path: String) -> ContainerError {
    ContainerError(.syntax, path: path, byteOffset: error.byteOffset, reason: error.message, syntax: error)
  }

  /// Checks a whole text.
  public static func check(
    _ bytes: UnsafeRawBufferPointer, as container: Container, limits: Limits = .init()
  ) throws(ContainerError) -> Summary {
    var check = ContainerCheck(container, limits: limits)
    try check.update(bytes)
    return try check.finish()
  }
}

extension ContainerCheck {
  /// The complete state of the check, so that another process can resume it: some hundred bytes, and 8 per record.
  public var state: [UInt8] {
    var writer = StateWriter(kind: 3)
    scanner.save(to: &writer)
    scanner.sink.save(to: &writer)
    return writer.bytes
  }

  /// Resumes a check from its saved state.
  ///
  /// - Throws: `JSONStateError` if `state` comes from another version of the library, is malformed, or belongs to a
  ///   check that has failed.
  public init(state: [UInt8]) throws(JSONStateError) {
    var reader = try StateReader(state)
    guard reader.kind == 3 else { throw JSONStateError() }
    scanner = try JSONScanner(from: &reader, sink: ContainerSink(container: .buckets, recordsMax: 0))
    scanner.sink = try ContainerSink(from: &reader, depth: scanner.state.depth)
    try reader.finish()
  }
}
