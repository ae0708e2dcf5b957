import CampanileCodec

extension PushAnswer {
  /// Maximum bytes of a response body that are stored; typically some dozens, more for the list of an app's channels.
  static let bodyBytesMax = 1 << 20

  private struct Members {
    var reason = ""
    var timestampMs: Int64?
  }

  /// Parses `{"reason":…,"timestamp":…}`. Any other body leaves the reason empty.
  mutating func readReason() {
    guard status != 200, !body.isEmpty else { return }
    let result = body.withUnsafeBytes { bytes in Result { () throws(ProtoJSONError) in try Self.members(bytes) } }
    guard case .success(let found) = result else { return }
    reason = String(String.UnicodeScalarView(found.reason.unicodeScalars.prefix(64)))
    timestampMs = found.timestampMs
  }

  private static func members(_ bytes: UnsafeRawBufferPointer) throws(ProtoJSONError) -> Members {
    var reader = JSONReader(bytes)
    var found = Members()
    guard try reader.beginObject() else { return found }
    repeat {
      let key = try reader.key()
      if key.matches("reason") {
        found.reason = try reader.string()
      } else if key.matches("timestamp") {
        found.timestampMs = try reader.int64()
      } else {
        try reader.skipValue()
      }
    } while try reader.nextMember()
    try reader.finish()
    return found
  }
}
