import CampanileBase
import CampanileCodec
import CampanileRPC

/// Writes an RPC error as the JSON body of an HTTP response.
enum ErrorBody {
  private static let typePrefix = "type.googleapis.com/"

  /// Writes the REST form (AIP-193): `{"error":{"code":404,"message":…,"status":"NOT_FOUND","details":[…]}}`.
  static func rest(_ error: RPCError, status: Int, to writer: inout JSONWriter) {
    let outer = writer.beginObject()
    writer.name(",\"error\":")
    let object = writer.beginObject()
    writer.name(",\"code\":")
    writer.number(status)
    writer.name(",\"message\":")
    writer.string(error.message)
    writer.name(",\"status\":")
    writer.string(error.code.name)
    writer.name(",\"details\":")
    let array = writer.beginArray()
    for detail in ErrorDetail.all(of: error) {
      writer.nextElement()
      let item = writer.beginObject()
      writer.name(",\"@type\":")
      writer.string(typePrefix + detail.type)
      detail.writeMembers(to: &writer)
      writer.endObject(item)
    }
    writer.endArray(array)
    writer.endObject(object)
    writer.endObject(outer)
  }

  /// Writes the Connect protocol's form, which is a whole body or part of a stream's last envelope:
  /// `{"code":"not_found","message":…,"details":[{"type":…,"value":<base64 of the protobuf>,"debug":{…}}]}`.
  static func connect(_ error: RPCError, to writer: inout JSONWriter) {
    let object = writer.beginObject()
    writer.name(",\"code\":")
    // The protocol spells this code with one l.
    writer.string(error.code == .cancelled ? "canceled" : error.code.name.lowercased())
    writer.name(",\"message\":")
    writer.string(error.message)
    writer.name(",\"details\":")
    let array = writer.beginArray()
    for detail in ErrorDetail.all(of: error) {
      writer.nextElement()
      let item = writer.beginObject()
      writer.name(",\"type\":")
      writer.string(detail.type)
      writer.name(",\"value\":")
      writer.string(Self.unpadded(detail.protobuf))
      writer.name(",\"debug\":")
      let debug = writer.beginObject()
      detail.writeMembers(to: &writer)
      writer.endObject(debug)
      writer.endObject(item)
    }
    writer.endArray(array)
    writer.endObject(object)
  }

  private static func unpadded(_ bytes: [UInt8]) -> String { Base64.text(bytes).filter { $0 != "=" } }
}

/// One google.rpc detail of an error (google/rpc/error_details.proto), in JSON and protobuf's binary form.
enum ErrorDetail {
  case errorInfo(RPCError)
  case badRequest([RPCError.FieldViolation])
  case retryInfo(Int64)

  static func all(of error: RPCError) -> [ErrorDetail] {
    var details = [ErrorDetail.errorInfo(error)]
    if !error.fieldViolations.isEmpty { details.append(.badRequest(error.fieldViolations)) }
    if let retryAfterMs = error.retryAfterMs { details.append(.retryInfo(retryAfterMs)) }
    return details
  }

  static let domain = "campanile"

  var type: String {
    switch self {
    case .errorInfo: "google.rpc.ErrorInfo"
    case .badRequest: "google.rpc.BadRequest"
    case .retryInfo: "google.rpc.RetryInfo"
    }
  }

  func writeMembers(to writer: inout JSONWriter) {
    switch self {
    case .errorInfo(let error):
      writer.name(",\"reason\":")
      writer.string(error.reason)
      writer.name(",\"domain\":")
      writer.string(Self.domain)
      writer.name(",\"metadata\":")
      let metadata = writer.beginObject()
      for key in error.errorMetadata.keysByUTF8 {
        writer.key(key)
        writer.string(error.errorMetadata[key] ?? "")
      }
      writer.endObject(metadata)
    case .badRequest(let violations):
      writer.name(",\"fieldViolations\":")
      let array = writer.beginArray()
      for violation in violations {
        writer.nextElement()
        let item = writer.beginObject()
        writer.name(",\"field\":")
        writer.string(violation.field)
        writer.name(",\"description\":")
        writer.string(violation.description)
        if !violation.reason.isEmpty {
          writer.name(",\"reason\":")
          writer.string(violation.reason)
        }
        writer.endObject(item)
      }
      writer.endArray(array)
    case .retryInfo(let retryAfterMs):
      writer.name(",\"retryDelay\":")
      let thousandths = String(max(0, retryAfterMs % 1000))
      let fraction = String(repeating: "0", count: 3 - thousandths.utf8.count) + thousandths
      writer.string("\(max(0, retryAfterMs) / 1000).\(fraction)s")
    }
  }

  /// The detail in protobuf's binary form.
  var protobuf: [UInt8] {
    var message = ProtobufBytes()
    switch self {
    case .errorInfo(let error):
      message.string(1, error.reason)
      message.string(2, Self.domain)
      for key in error.errorMetadata.keysByUTF8 {
        var entry = ProtobufBytes()
        entry.string(1, key)
        entry.string(2, error.errorMetadata[key] ?? "")
        message.message(3, entry)
      }
    case .badRequest(let violations):
      for violation in violations {
        var item = ProtobufBytes()
        item.string(1, violation.field)
        item.string(2, violation.description)
        item.string(3, violation.reason)
        message.message(1, item)
      }
    case .retryInfo(let retryAfterMs):
      var duration = ProtobufBytes()
      duration.integer(1, UInt64(max(0, retryAfterMs) / 1000))
      duration.integer(2, UInt64(max(0, retryAfterMs) % 1000 * 1_000_000))
      message.message(1, duration)
    }
    return message.bytes
  }
}

/// Writes protobuf's binary form (protobuf.dev, "Encoding"). `string` and `integer` omit default values.
struct ProtobufBytes {
  private(set) var bytes: [UInt8] = []

  mutating func string(_ number: UInt64, _ text: String) {
    guard !text.isEmpty else { return }
    blob(number, Array(text.utf8))
  }

  /// Writes a length-delimited field, even if it is empty.
  mutating func blob(_ number: UInt64, _ content: [UInt8]) {
    raw(number << 3 | 2)
    raw(UInt64(content.count))
    bytes.append(contentsOf: content)
  }

  mutating func varint(_ number: UInt64, _ value: UInt64) {
    raw(number << 3)
    raw(value)
  }

  mutating func fixed(_ number: UInt64, _ value: UInt64) {
    raw(number << 3 | 1)
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func fixed(_ number: UInt64, _ value: UInt32) {
    raw(number << 3 | 5)
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func message(_ number: UInt64, _ inner: ProtobufBytes) {
    blob(number, inner.bytes)
  }

  mutating func integer(_ number: UInt64, _ value: UInt64) {
    guard value > 0 else { return }
    varint(number, value)
  }

  private mutating func raw(_ value: UInt64) {
    var value = value
    while value >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: value))
  }
}
