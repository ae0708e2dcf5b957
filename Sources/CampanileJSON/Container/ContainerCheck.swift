/// Checks chunk by chunk that a text is one of the two known containers, and counts its records.
///
/// It includes all that `JSONValidator` checks, so that one pass is enough; beside a validator it costs a second one.
/// Memory: some kilobytes, and about 16 bytes per record for its id, of which `recordsMax` bounds the number.
public struct ContainerCheck: Sendable {
  /// What a container may be.
  public struct Limits: Sendable, Hashable {
    /// How many records it may have.
    public var recordsMax: Int
    /// The limits of its text. Duplicate names are not told: the last one counts.
    public var text: JSONLimits

    public init(recordsMax: Int = 250_000, text: JSONLimits = .init()) {
      self.recordsMax = max(recordsMax, 0)
      self.text = text
    }
  }

  /// What was learned about a container.
  public struct Summary: Sendable, Hashable {
    public var recordCount: Int
    /// The container's `syncTimestamp` as it is written.
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

  /// The records so far.
  public var recordCount: Int { scanner.sink.recordCount }

  /// Reads the next bytes.
  ///
  /// - Throws: at the first value that cannot be there; then every call throws the same error.
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
  /// - Throws: `syntax` if it is not whole.
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
  /// All that the check knows, so that another process can go on: some hundred bytes, and 8 for each record.
  public var state: [UInt8] {
    var writer = StateWriter(kind: 3)
    scanner.save(to: &writer)
    scanner.sink.save(to: &writer)
    return writer.bytes
  }

  /// A check that goes on where the one that gave `state` was.
  ///
  /// - Throws: if `state` was not made by this version of the library, or by a check that has failed.
  public init(state: [UInt8]) throws(JSONStateError) {
    var reader = try StateReader(state)
    guard reader.kind == 3 else { throw JSONStateError() }
    scanner = try JSONScanner(from: &reader, sink: ContainerSink(container: .buckets, recordsMax: 0))
    scanner.sink = try ContainerSink(from: &reader, depth: scanner.state.depth)
    try reader.finish()
  }
}
