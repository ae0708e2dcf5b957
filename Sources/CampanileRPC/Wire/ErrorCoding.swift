import CampanileBase
import NIOCore

extension ByteBuffer {
  /// Writes the value of a response's `error` member.
  mutating func writeErrorObject(_ error: RPCError) {
    writeStaticString("{\"code\":")
    writeDecimal(Int64(error.wireCode))
    writeStaticString(",\"message\":")
    writeJSONString(error.message)
    writeStaticString(",\"data\":{\"status\":")
    writeJSONString(error.code.name)
    writeStaticString(",\"processed\":")
    writeStaticString(error.processed ? "true" : "false")
    if let retryAfterMs = error.retryAfterMs {
      writeStaticString(",\"retryAfterMs\":")
      writeDecimal(retryAfterMs)
    }
    writeStaticString(",\"details\":[{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"reason\":")
    writeJSONString(error.reason)
    writeStaticString(",\"domain\":\"campanile\",\"metadata\":{")
    for (index, entry) in error.errorMetadata.sorted(by: { $0.key < $1.key }).enumerated() {
      if index > 0 { writeInteger(UInt8(ascii: ",")) }
      writeJSONString(entry.key)
      writeInteger(UInt8(ascii: ":"))
      writeJSONString(entry.value)
    }
    writeStaticString("}}")
    writeFieldViolations(error.fieldViolations)
    if let retryAfterMs = error.retryAfterMs {
      writeStaticString(",{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"")
      writeDecimal(retryAfterMs / 1000)
      writeInteger(UInt8(ascii: "."))
      let thousandths = String(max(0, retryAfterMs % 1000))
      writeString(String(repeating: "0", count: 3 - thousandths.utf8.count) + thousandths)
      writeStaticString("s\"}")
    }
    writeStaticString("]}}")
  }

  private mutating func writeFieldViolations(_ violations: [RPCError.FieldViolation]) {
    guard !violations.isEmpty else { return }
    writeStaticString(",{\"@type\":\"type.googleapis.com/google.rpc.BadRequest\",\"fieldViolations\":[")
    for (index, violation) in violations.enumerated() {
      if index > 0 { writeInteger(UInt8(ascii: ",")) }
      writeStaticString("{\"field\":")
      writeJSONString(violation.field)
      writeStaticString(",\"description\":")
      writeJSONString(violation.description)
      if !violation.reason.isEmpty {
        writeStaticString(",\"reason\":")
        writeJSONString(violation.reason)
      }
      writeInteger(UInt8(ascii: "}"))
    }
    writeStaticString("]}")
  }
}

extension RPCError {
  /// Reads the value of an `error` member.
  ///
  /// Lenient, because the call has failed anyway: missing or invalid parts become UNKNOWN with the available text.
  /// Without `processed` the call counts as processed, which is the safe assumption.
  init(errorObject bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
    self.init(.unknown, "the peer sent an error without a message", reason: "UNKNOWN")
    var number: Int64 = 0
    var data: Range<Int>?
    guard var members = JSONObjectReader(bytes, range) else { return }
    while let member = members.next() {
      switch member.name {
      case "code": number = JSONObjectReader.integer(bytes, member.value) ?? 0
      case "message": message = JSONObjectReader.string(bytes, member.value) ?? message
      case "data": data = member.value
      default: break
      }
    }
    takeNumber(number)
    if let data { takeData(bytes, data) }
  }

  private mutating func takeNumber(_ number: Int64) {
    switch number {
    case -32700: (code, protocolFailure, processed) = (.invalidArgument, .parse, false)
    case -32600: (code, protocolFailure, processed) = (.invalidArgument, .invalidEnvelope, false)
    case -32601: (code, protocolFailure, processed) = (.unimplemented, .unknownMethod, false)
    case -32602: (code, protocolFailure, processed) = (.invalidArgument, .invalidParams, false)
    default: code = (1...16).contains(number) ? Code(rawValue: Int(number)) ?? .unknown : .unknown
    }
    reason = code.name
  }

  private mutating func takeData(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
    guard var members = JSONObjectReader(bytes, range) else { return }
    while let member = members.next() {
      switch member.name {
      case "status":
        if let name = JSONObjectReader.string(bytes, member.value), let known = Code(name: name) { code = known }
      case "processed": processed = JSONObjectReader.bool(bytes, member.value) ?? true
      case "retryAfterMs": retryAfterMs = JSONObjectReader.integer(bytes, member.value).map { max(0, $0) }
      case "details":
        for detail in JSONObjectReader.elements(bytes, member.value, countMax: 16) ?? [] { takeDetail(bytes, detail) }
      default: break
      }
    }
  }

  private mutating func takeDetail(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
    guard var members = JSONObjectReader(bytes, range) else { return }
    while let member = members.next() {
      switch member.name {
      case "reason": reason = JSONObjectReader.string(bytes, member.value) ?? reason
      case "metadata":
        guard var entries = JSONObjectReader(bytes, member.value) else { continue }
        while let entry = entries.next(), errorMetadata.count < 64 {
          errorMetadata[entry.name] = JSONObjectReader.string(bytes, entry.value)
        }
      case "fieldViolations":
        for violation in JSONObjectReader.elements(bytes, member.value, countMax: 100) ?? [] {
          fieldViolations.append(FieldViolation(object: bytes, violation))
        }
      default: break
      }
    }
  }
}

extension RPCError.FieldViolation {
  fileprivate init(object bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
    self.init(field: "", description: "")
    guard var members = JSONObjectReader(bytes, range) else { return }
    while let member = members.next() {
      let text = JSONObjectReader.string(bytes, member.value) ?? ""
      switch member.name {
      case "field": field = text
      case "description": description = text
      case "reason": reason = text
      default: break
      }
    }
  }
}

extension Metadata {
  /// Reads the value of a `metadata` member. Throws INVALID_ARGUMENT if it is not valid metadata.
  init(object bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(RPCError) {
    self.init()
    guard range.count <= Self.sizeBytesMax * 7, var members = JSONObjectReader(bytes, range) else {
      throw .invalidField("metadata", "more than \(Self.sizeBytesMax) bytes", reason: "METADATA_TOO_LARGE")
    }
    var sizeBytes = 0
    while let member = members.next() {
      guard self[member.name] == nil else {
        throw .invalidField(
          "metadata", "the key \(member.name.debugDescription) occurs twice", reason: "METADATA_KEY_INVALID")
      }
      let single = JSONObjectReader.string(bytes, member.value).map { [$0] }
      let many = single == nil ? JSONObjectReader.elements(bytes, member.value, countMax: Self.sizeBytesMax) : nil
      let values = single ?? many?.map { JSONObjectReader.string(bytes, $0) ?? "\u{0}" }
      guard let values, !values.contains("\u{0}") else {
        throw .invalidField(
          "metadata", "the value of \(member.name.debugDescription) must be a string or an array of strings",
          reason: "METADATA_VALUE_INVALID")
      }
      for value in values {
        sizeBytes += member.name.utf8.count + value.utf8.count
        guard sizeBytes <= Self.sizeBytesMax, entries.count < Self.entryCountMax else {
          throw .invalidField(
            "metadata", "more than \(Self.sizeBytesMax) bytes or \(Self.entryCountMax) values",
            reason: "METADATA_TOO_LARGE")
        }
        add(value, for: member.name)
      }
    }
    if let fault = fault() { throw fault }
  }
}
