/// `google.protobuf.Any`: a message of any type, stored as its original JSON object. Values are equal if their texts
/// are.
public struct ProtoAny: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.Any" }

  /// A JSON object with the member `@type`, or the empty object.
  public private(set) var json: String
  /// The type URL, such as `type.googleapis.com/google.rpc.ErrorInfo`; empty for the empty object.
  public private(set) var typeURL: String

  /// Creates an empty Any.
  public init() {
    json = "{}"
    typeURL = ""
  }

  /// Creates an Any that contains `message`, with a type URL under `type.googleapis.com/`.
  public init<M: ProtoMessage>(packing message: M) {
    typeURL = "type.googleapis.com/" + M.protoFullName
    let value = message.jsonString()
    if WellKnownTypes.hasOwnJSON(M.protoFullName) {
      json = "{\"@type\":\"\(typeURL)\",\"value\":\(value)}"
    } else {
      json = "{\"@type\":\"\(typeURL)\"" + (value == "{}" ? "}" : "," + value.dropFirst())
    }
  }

  /// Reads one object, stores its text, and checks its `@type`.
  ///
  /// - Throws: `INVALID_FORMAT` if an object with members has no `@type`, or if that is not a URL that ends in a type
  ///   name.
  public init(from reader: inout JSONReader) throws(ProtoJSONError) {
    guard reader.peek() == UInt8(ascii: "{") else { throw reader.wrongType("an object") }
    let offset = reader.byteOffset
    json = try reader.rawValue()
    typeURL = ""
    // The text is valid JSON at this point, so reading it again can fail only because of `@type`.
    var text = json
    let result = text.withUTF8 { Self.typeURL(in: UnsafeRawBufferPointer($0)) }
    guard let found = result else {
      throw ProtoJSONError(.invalidFormat, "expected \"@type\" with a type URL", byteOffset: offset)
    }
    typeURL = found
  }

  public func encode(to writer: inout JSONWriter) {
    writer.append(raw: json)
  }

  /// Returns the contained message, if its type is `M`.
  ///
  /// - Throws: `INVALID_FORMAT` if it has another type; the errors of decoding an `M`.
  public func unpack<M: ProtoMessage>(as type: M.Type, options: JSONDecodingOptions = .init()) throws(ProtoJSONError)
    -> M
  {
    guard typeURL.hasSuffix("/" + M.protoFullName) else {
      throw ProtoJSONError(.invalidFormat, "the Any contains \(typeURL)", byteOffset: 0)
    }
    return try M(jsonString: payload(ownJSON: WellKnownTypes.hasOwnJSON(M.protoFullName)), options: options)
  }

  /// Returns the text of the message: the member `value`, or the object without `@type`.
  private func payload(ownJSON: Bool) throws(ProtoJSONError) -> String {
    var text = json
    let result: Result<String, ProtoJSONError> = text.withUTF8 { bytes in
      do throws(ProtoJSONError) {
        var reader = JSONReader(UnsafeRawBufferPointer(bytes))
        var members: [String] = []
        var more = try reader.beginObject()
        while more {
          let name = try reader.stringKey()
          let value = try reader.rawValue()
          if ownJSON, name == "value" { return .success(value) }
          if name != "@type" {
            var writer = JSONWriter()
            writer.string(name)
            members.append(writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } + ":" + value)
          }
          more = try reader.nextMember()
        }
        return .success(ownJSON ? "null" : "{" + members.joined(separator: ",") + "}")
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Returns the type URL in a valid object: empty for an object without members, nil if it is missing or malformed.
  private static func typeURL(in text: UnsafeRawBufferPointer) -> String? {
    do throws(ProtoJSONError) {
      var reader = JSONReader(text, options: .init(maxDepth: .max))
      var more = try reader.beginObject()
      if !more { return "" }
      while more {
        if try reader.stringKey() == "@type" {
          let url = try reader.string()
          guard let slash = url.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
          return url.utf8.index(after: slash) == url.utf8.endIndex ? nil : url
        }
        try reader.skipValue()
        more = try reader.nextMember()
      }
      return nil
    } catch {
      return nil
    }
  }
}

enum WellKnownTypes {
  /// Returns whether a type's JSON is not an object of its fields, so that an Any stores it in the member `value`.
  static func hasOwnJSON(_ name: String) -> Bool {
    let prefix = "google.protobuf."
    guard name.hasPrefix(prefix) else { return false }
    let rest = name.dropFirst(prefix.count)
    let types: [Substring] = [
      "Timestamp", "Duration", "FieldMask", "Value", "Struct", "ListValue", "Any", "DoubleValue", "FloatValue",
      "Int64Value",
      "UInt64Value", "Int32Value", "UInt32Value", "BoolValue", "StringValue", "BytesValue", "Empty",
    ]
    return types.contains(rest)
  }
}
