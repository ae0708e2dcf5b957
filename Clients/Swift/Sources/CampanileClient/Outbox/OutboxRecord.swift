import CampanileBase

/// A record of the outbox's file: `length, CRC-32, payload`, numbers in four bytes, little endian.
enum OutboxRecord: Equatable {
  case added(OutboxEntry)
  case sent(UInt64)
  case refused(UInt64, RPCError)
  /// The app has handled a refusal, or has withdrawn an entry.
  case removed(UInt64)
  /// The id of the next entry, so that a compacted file does not assign an id twice.
  case nextID(UInt64)
  /// A record of a newer version, which has no effect.
  case unknown

  static let headBytes = 8
  /// The sizes of a payload: at least a kind and an id. Other lengths are damage, such as blocks of zeros.
  static let payloadBytes = 9...16 * 1024 * 1024

  /// Returns the record in the form of the file.
  var bytes: [UInt8] {
    var payload = ByteWriter()
    write(to: &payload)
    var head = ByteWriter()
    head.integer(UInt32(truncatingIfNeeded: payload.bytes.count))
    head.integer(CRC32.checksum(payload.bytes[...]))
    return head.bytes + payload.bytes
  }

  /// Reads the record at the start of `bytes`, and returns it with its size; `nil` if it is incomplete or damaged.
  static func read(_ bytes: ArraySlice<UInt8>) -> (record: OutboxRecord, sizeBytes: Int)? {
    var head = ByteReader(bytes)
    guard let length = head.integer(UInt32.self), let checksum = head.integer(UInt32.self),
      payloadBytes.contains(Int(length)), let payload = head.take(Int(length)), CRC32.checksum(payload) == checksum
    else { return nil }
    var reader = ByteReader(payload)
    let record = parse(&reader)
    return (reader.isAtEnd ? record ?? .unknown : .unknown, headBytes + Int(length))
  }

  private func write(to payload: inout ByteWriter) {
    switch self {
    case .added(let entry):
      payload.integer(UInt8(1))
      payload.integer(entry.id)
      payload.text(entry.object)
      payload.text(entry.method)
      payload.text(entry.requestID)
      payload.integer(UInt64(bitPattern: entry.createdMs))
      payload.blob(entry.request)
    case .sent(let id):
      payload.integer(UInt8(2))
      payload.integer(id)
    case .refused(let id, let error):
      payload.integer(UInt8(3))
      payload.integer(id)
      Self.write(error, to: &payload)
    case .removed(let id):
      payload.integer(UInt8(4))
      payload.integer(id)
    case .nextID(let id):
      payload.integer(UInt8(5))
      payload.integer(id)
    case .unknown: break
    }
  }

  private static func parse(_ reader: inout ByteReader) -> OutboxRecord? {
    guard let kind = reader.integer(UInt8.self), let id = reader.integer(UInt64.self) else { return nil }
    switch kind {
    case 1:
      guard let object = reader.text(), let method = reader.text(), let requestID = reader.text(),
        let createdMs = reader.integer(UInt64.self), let request = reader.blob()
      else { return nil }
      return .added(
        OutboxEntry(
          id: id, object: object, method: method, request: request, requestID: requestID,
          createdMs: Int64(bitPattern: createdMs)))
    case 2: return .sent(id)
    case 3: return error(&reader).map { .refused(id, $0) }
    case 4: return .removed(id)
    case 5: return .nextID(id)
    default: return nil
    }
  }
}

// MARK: - Errors

extension OutboxRecord {
  private static func write(_ error: RPCError, to payload: inout ByteWriter) {
    payload.integer(UInt8(error.code.rawValue))
    payload.text(error.message)
    payload.text(error.reason)
    payload.integer(UInt32(error.errorMetadata.count))
    for (key, value) in error.errorMetadata.sorted(by: { $0.key < $1.key }) {
      payload.text(key)
      payload.text(value)
    }
    payload.integer(UInt32(error.fieldViolations.count))
    for violation in error.fieldViolations {
      payload.text(violation.field)
      payload.text(violation.description)
      payload.text(violation.reason)
    }
  }

  private static func error(_ reader: inout ByteReader) -> RPCError? {
    guard let code = reader.integer(UInt8.self).flatMap({ RPCError.Code(rawValue: Int($0)) }),
      let message = reader.text(), let reason = reader.text(), let pairs = reader.integer(UInt32.self)
    else { return nil }
    var error = RPCError(code, message, reason: reason)
    for _ in 0..<pairs {
      guard let key = reader.text(), let value = reader.text() else { return nil }
      error.errorMetadata[key] = value
    }
    guard let violations = reader.integer(UInt32.self) else { return nil }
    for _ in 0..<violations {
      guard let field = reader.text(), let description = reader.text(), let reason = reader.text() else { return nil }
      error.fieldViolations.append(.init(field: field, description: description, reason: reason))
    }
    return error
  }
}
