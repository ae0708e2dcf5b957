import Synchronization

/// One recorded operation of a trace, started at creation and ended once. Safe from any thread.
public final class Span: Sendable {
  /// The kind of a span; raw values are those of OTLP (`opentelemetry.proto.trace.v1.Span.SpanKind`).
  public enum Kind: Int, Sendable, Hashable {
    case `internal` = 1
    case server = 2
    case client = 3
    case producer = 4
    case consumer = 5
  }

  /// The context to propagate to nested work.
  public let context: TraceContext
  private let tracer: Tracer
  private let state: Mutex<FinishedSpan?>

  init(tracer: Tracer, record: FinishedSpan, state: String) {
    self.tracer = tracer
    context = TraceContext(
      traceIDHigh: record.traceIDHigh, traceIDLow: record.traceIDLow, spanID: record.spanID, isSampled: true,
      state: state)
    self.state = Mutex(record)
  }

  /// Adds an attribute. Attributes beyond `attributesMax`, or after the end, are dropped.
  public func set(_ key: String, _ value: String) {
    state.withLock { $0?.add(.init(key: key, value: value)) }
  }

  /// Ends the span. Only the first end takes effect.
  ///
  /// - Parameters:
  ///   - failure: The reason for a failure; `nil` for success.
  ///   - attributes: Added as by `set`.
  public func end(failure: String? = nil, with attributes: [FinishedSpan.Attribute] = []) {
    let record = state.withLock { record in
      defer { record = nil }
      return record
    }
    guard var record else { return }
    record.endNs = max(record.startNs, tracer.nowNs())
    record.failure = failure
    record.attributes.reserveCapacity(record.attributes.count + attributes.count)
    for attribute in attributes { record.add(attribute) }
    tracer.finished(record)
  }

  public static let attributesMax = 32
  public static let valueCharactersMax = 1_024
}

/// A span that has ended, in the form for exporters.
public struct FinishedSpan: Sendable, Hashable {
  public struct Attribute: Sendable, Hashable {
    public var key: String
    public var value: String

    public init(key: String, value: String) {
      self.key = key
      self.value = value
    }
  }

  public var traceIDHigh: UInt64
  public var traceIDLow: UInt64
  public var spanID: UInt64
  /// The parent's id; 0 for the root span of a trace.
  public var parentSpanID: UInt64
  public var name: String
  public var kind: Span.Kind
  /// The start in nanoseconds since 1970.
  public var startNs: UInt64
  public var endNs: UInt64
  public var attributes: [Attribute] = []
  /// The reason for a failure; `nil` for success.
  public var failure: String?

  public init(
    traceIDHigh: UInt64, traceIDLow: UInt64, spanID: UInt64, parentSpanID: UInt64, name: String, kind: Span.Kind,
    startNs: UInt64, endNs: UInt64
  ) {
    self.traceIDHigh = traceIDHigh
    self.traceIDLow = traceIDLow
    self.spanID = spanID
    self.parentSpanID = parentSpanID
    self.name = name
    self.kind = kind
    self.startNs = startNs
    self.endNs = endNs
  }

  fileprivate mutating func add(_ attribute: Attribute) {
    guard attributes.count < Span.attributesMax else { return }
    var kept = attribute
    // A short text has no more characters than bytes, and bytes are counted in constant time.
    if kept.value.utf8.count > Span.valueCharactersMax {
      kept.value = String(kept.value.prefix(Span.valueCharactersMax))
    }
    attributes.append(kept)
  }
}
