/// Validates a JSON text (RFC 8259) chunk by chunk, without storing any of it.
///
/// The chunks may be split anywhere, even within characters, escapes and numbers, without effect on the result or the
/// reported position. Memory is constant: some hundred bytes and one bit per open array or object. With
/// `duplicateNames: .report` it also needs memory for up to `JSONLimits.namesMax` names. Time is linear in the number
/// of bytes.
///
/// Checks the grammar of sections 2 to 7, UTF-8 (RFC 3629: no overlong forms, surrogates or values above U+10FFFF), and
/// the limits. A byte order mark is an error (section 8.1). White space may surround the value.
public struct JSONValidator: Sendable {
  private var plain: JSONScanner<NullSink>?
  private var named: JSONScanner<NameSink>?

  public init(limits: JSONLimits = .init()) {
    switch limits.duplicateNames {
    case .keep: plain = JSONScanner(limits: limits, sink: NullSink())
    case .report: named = JSONScanner(limits: limits, sink: NameSink(limits: limits))
    }
  }

  /// The number of bytes read.
  public var sizeBytes: Int64 { plain?.state.offset ?? named?.state.offset ?? 0 }

  /// Reads the next bytes. An empty chunk changes nothing.
  ///
  /// - Throws: `JSONSyntaxError` at the first invalid byte; every later call throws the same error.
  public mutating func update(_ bytes: UnsafeRawBufferPointer) throws(JSONSyntaxError) {
    try plain?.update(bytes)
    do throws(JSONSyntaxError) {
      try named?.update(bytes)
    } catch {
      // The sink's failure is at an earlier position than the scanner's error in the same block.
      throw named?.sink.failure ?? error
    }
    if let failure = named?.sink.failure { throw failure }
  }

  /// Ends the text.
  ///
  /// - Throws: `unexpectedEnd` if the value is incomplete, or the error of `update`.
  public mutating func finish() throws(JSONSyntaxError) -> JSONSummary {
    if let summary = try plain?.finish() { return summary }
    if let failure = named?.sink.failure { throw failure }
    var summary = try named?.finish() ?? JSONSummary(sizeBytes: 0, depth: 0, topLevelKind: .null)
    summary.duplicates = named?.sink.duplicates ?? []
    summary.duplicateCount = named?.sink.duplicateCount ?? 0
    return summary
  }

  /// Validates a complete text.
  public static func validate(
    _ bytes: UnsafeRawBufferPointer, limits: JSONLimits = .init()
  ) throws(JSONSyntaxError) -> JSONSummary {
    var validator = JSONValidator(limits: limits)
    try validator.update(bytes)
    return try validator.finish()
  }
}

extension JSONValidator {
  /// The complete state of the validator, so that another process can continue: for uploads that are resumed.
  ///
  /// Some hundred bytes; with `duplicateNames: .report` up to `namesMax` times 8 bytes more. Do not save a validator
  /// that has failed: its state records the failure, and a validator restored from it fails at once.
  public var state: [UInt8] {
    var writer = StateWriter(kind: plain != nil ? 1 : 2)
    if let plain { plain.save(to: &writer) }
    if let named {
      named.save(to: &writer)
      named.sink.save(to: &writer)
    }
    return writer.bytes
  }

  /// Restores a validator from its saved state.
  ///
  /// - Throws: `JSONStateError` if `state` is malformed or from another version of the library. The state is not
  ///   authenticated: a manipulated one can falsify the result, but has no other effect.
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

/// A saved state is damaged or from another version.
public struct JSONStateError: Error, Sendable, Hashable, CustomStringConvertible {
  public init() {}
  public var description: String { "the saved state is damaged or from another version" }
}
