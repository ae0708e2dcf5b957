import CampanileCodec

/// The request id of a call, by which a service recognizes a repetition (AIP-155).
enum RequestIdentity {
  /// Returns whether requests of this type have the field `request_id`. Other messages ignore an unknown member.
  static func isSupported<Q: ProtoMessage>(by type: Q.Type) -> Bool {
    guard let probe = try? Q(jsonString: #"{"requestId":"r"}"#) else { return false }
    return probe != Q()
  }

  /// Returns the request id in a message's JSON; empty if there is none.
  static func id(in json: [UInt8]) -> String {
    let read = json.withUnsafeBytes { bytes in
      Result { () throws(ProtoJSONError) in
        var reader = JSONReader(bytes)
        var more = try reader.beginObject()
        while more {
          if try reader.key().matches("requestId") { return try reader.string() }
          try reader.skipValue()
          more = try reader.nextMember()
        }
        return ""
      }
    }
    return (try? read.get()) ?? ""
  }

  /// Adds a request id to the JSON of a message that has none.
  static func adding(_ id: String, to json: [UInt8]) -> [UInt8] {
    var writer = JSONWriter()
    writer.string(id)
    let value = writer.withUnsafeBytes { Array($0) }
    let isEmpty = json.count <= 2
    return json.dropLast() + Array((isEmpty ? #""requestId":"# : #","requestId":"#).utf8) + value + [UInt8(ascii: "}")]
  }
}
