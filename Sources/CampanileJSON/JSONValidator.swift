/// Checks that bytes are one JSON text (RFC 8259), chunk by chunk, without keeping any of them.
///
/// The chunks may be cut anywhere, within characters, escapes and numbers too; the verdict and its place are the same.
/// Memory is constant: some hundred bytes and a bit per open array or object; with `duplicateNames: .report` also what
/// `JSONLimits.namesMax` allows. Work is linear in the bytes.
///
/// Checked are the grammar of sections 2 to 7, UTF-8 (RFC 3629: no overlong forms, surrogates or values above U+10FFFF),
/// and the limits. A byte order mark is an error (section 8.1). White space may surround the value.
public struct JSONValidator: Sendable {
  private var plain: JSONScanner<NullSink>?
  private var named: JSONScanner<NameSink>?

  public init(limits: JSONLimits = .init()) {
    switch limits.duplicateNames {
    case .keep: plain = JSONScanner(limits: limits, sink: NullSink())
    case .report: named = JSONScanner(limits: limits, sink: NameSink(limits: limits))
    }
  }

  /// How many bytes were read.
  public var sizeBytes: Int64 { plain?.state.offset ?? named?.state.offset ?? 0 }

  /// Reads the next bytes. An empty chunk changes nothing.
  ///
  /// - Throws: at the first byte that cannot be there. The validator then answers every call with the same error.
  public mutating func update(_ bytes: UnsafeRawBufferPointer) throws(JSONSyntaxError) {
    try plain?.update(bytes)
    do throws(JSONSyntaxError) {
      try named?.update(bytes)
    } catch {
      // What the sink found lies before what the scanner found further on in the same block.
      throw named?.sink.failure ?? error
    }
    if let failure = named?.sink.failure { throw failure }
  }

  /// Ends the text.
  ///
  /// - Throws: `unexpectedEnd` if no whole value was read, or the error of `update`.
  public mutating func finish() throws(JSONSyntaxError) -> JSONSummary {
    if let summary = try plain?.finish() { return summary }
    if let failure = named?.sink.failure { throw failure }
    var summary = try named?.finish() ?? JSONSummary(sizeBytes: 0, depth: 0, topLevelKind: .null)
    summary.duplicates = named?.sink.duplicates ?? []
    summary.duplicateCount = named?.sink.duplicateCount ?? 0
    return summary
  }

  /// Checks a whole text.
  public static func validate(
    _ bytes: UnsafeRawBufferPointer, limits: JSONLimits = .init()
  ) throws(JSONSyntaxError) -> JSONSummary {
    var validator = JSONValidator(limits: limits)
    try validator.update(bytes)
    return try validator.finish()
  }
}

extension JSONValidator {
  /// All that the validator knows, so that another process can go on: for uploads that are resumed.
  ///
  /// Some hundred bytes; with `duplicateNames: .report` up to `namesMax` times 8 bytes more. Not for a validator that
  /// has failed: its state says so, and one made from it fails at once.
  public var state: [UInt8] {
    var writer = StateWriter(kind: plain != nil ? 1 : 2)
    if let plain { plain.save(to: &writer) }
    if let named {
      named.save(to: &writer)
      named.sink.save(to: &writer)
    }
    return writer.bytes
  }

  /// A validator that goes on where the one that gave `state` was.
  ///
  /// - Throws: if `state` was not made by this version of the library. It is not authenticated: who can change it can make
  ///   the verdict wrong, but nothing else.
  public init(state: [UInt8]) throws(JSONStateError) {
    var reader = try StateReader(state)
    switch reader.kind {
    case 1: plain = try JSONScanner(from: &reader, sink: NullSink())
    case 2:
      var scanner = try JSONScanner(from: &reader, sink: NameSink(limits: .init()))
      scanner.sink = try NameSink(from: &reader, limits: scanner.limits, depth: scanner.state.depth)
      named = scanner
    default: throw JSONStateError()
    }
    try reader.finish()
  }
}

/// A saved state that is damaged, or of another version.
public struct JSONStateError: Error, Sendable, Hashable, CustomStringConvertible {
  public init() {}
  public var description: String { "the saved state is damaged or of another version" }
}
