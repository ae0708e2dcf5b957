import CampanileBase
import CampanileRPC

/// Encodes spans as OTLP JSON: an `ExportTraceServiceRequest` with one resource and one scope.
///
/// The format is ProtoJSON with hexadecimal ids (opentelemetry.io/docs/specs/otlp, "JSON Protobuf Encoding").
enum OTLPTraces {
  /// Maximum size of a status message; longer ones are truncated.
  private static let messageBytesMax = 1_024
  /// Typical size of a span, for the initial capacity.
  private static let spanSizeBytes = 768

  static func json(_ spans: [FinishedSpan], resource: [FinishedSpan.Attribute]) -> [UInt8] {
    var text = JSONText(sizeBytes: 1_024 + spans.count * spanSizeBytes)
    text.raw("{\"resourceSpans\":[{\"resource\":{\"attributes\":")
    write(resource, to: &text)
    text.raw("},\"scopeSpans\":[{\"scope\":{\"name\":\"campanile\",\"version\":")
    text.string(CampanileVersion.string)
    text.raw("},\"spans\":[")
    for (index, span) in spans.enumerated() {
      if index > 0 { text.raw(",") }
      write(span, to: &text)
    }
    text.raw("]}]}]}")
    return text.bytes
  }

  private static func write(_ span: FinishedSpan, to text: inout JSONText) {
    text.raw("{\"traceId\":\"")
    text.hexadecimal(span.traceIDHigh)
    text.hexadecimal(span.traceIDLow)
    text.raw("\",\"spanId\":\"")
    text.hexadecimal(span.spanID)
    if span.parentSpanID != 0 {
      text.raw("\",\"parentSpanId\":\"")
      text.hexadecimal(span.parentSpanID)
    }
    text.raw("\",\"name\":")
    text.string(span.name)
    text.raw(",\"kind\":")
    text.number(span.kind.rawValue)
    text.raw(",\"startTimeUnixNano\":")
    text.quoted(span.startNs)
    text.raw(",\"endTimeUnixNano\":")
    text.quoted(span.endNs)
    text.raw(",\"attributes\":")
    write(span.attributes, to: &text)
    text.raw(",\"status\":{")
    if let failure = span.failure {
      text.raw("\"code\":2,\"message\":")
      text.string(failure, maximumBytes: messageBytesMax)
    }
    text.raw("}}")
  }

  private static func write(_ attributes: [FinishedSpan.Attribute], to text: inout JSONText) {
    text.raw("[")
    for (index, attribute) in attributes.enumerated() {
      if index > 0 { text.raw(",") }
      text.raw("{\"key\":")
      text.string(attribute.key)
      text.raw(",\"value\":{\"stringValue\":")
      text.string(attribute.value)
      text.raw("}}")
    }
    text.raw("]")
  }
}
