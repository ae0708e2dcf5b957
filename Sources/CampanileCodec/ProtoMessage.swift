/// A message of a proto3 contract that decodes and encodes itself as ProtoJSON.
///
/// `protoc-gen-campanile` generates conforming types; the well-known types of `google.protobuf` are in this module.
public protocol ProtoMessage: Sendable, Hashable {
  /// The full proto name, such as `campanile.notifications.v1.Notification`.
  static var protoFullName: String { get }

  /// Creates a message with every field at its default.
  init()

  /// Reads one message from `reader`, which is positioned before its JSON value.
  ///
  /// - Throws: `ProtoJSONError` with the byte offset of the error. Entry points that read a whole text, such as
  ///   `init(jsonUTF8:options:)`, add its field path.
  init(from reader: inout JSONReader) throws(ProtoJSONError)

  /// Writes the message as one canonical ProtoJSON value: lowerCamelCase names, defaults omitted.
  func encode(to writer: inout JSONWriter)
}

/// The depth limit of JSON decoding.
public struct JSONDecodingOptions: Sendable, Hashable {
  /// The maximum nesting depth of arrays and objects. Deeper text is `JSON_DEPTH_EXCEEDED`.
  public var maxDepth: Int

  @inlinable
  public init(maxDepth: Int = 64) {
    self.maxDepth = maxDepth
  }
}

extension ProtoMessage {
  /// Creates a message whose fields are set by `populate`.
  @inlinable
  public static func with<Failure: Error>(_ populate: (inout Self) throws(Failure) -> Void) throws(Failure) -> Self {
    var message = Self()
    try populate(&message)
    return message
  }

  /// Decodes a whole JSON text: one value, surrounded by nothing but white space.
  ///
  /// Unknown members are skipped, and an unknown enum name becomes `JSONReader.unknownEnumNumber`, because the sender
  /// may be newer.
  ///
  /// - Throws: `ProtoJSONError` with the field path and the byte offset of the error.
  @inlinable
  public init(jsonUTF8 bytes: UnsafeRawBufferPointer, options: JSONDecodingOptions = .init()) throws(ProtoJSONError) {
    var reader = JSONReader(bytes, options: options)
    do throws(ProtoJSONError) {
      try self.init(from: &reader)
      try reader.finish()
    } catch {
      throw error.located(in: bytes)
    }
  }

  /// Decodes a whole JSON text from an array of UTF-8 bytes.
  @inlinable
  public init(jsonUTF8 bytes: [UInt8], options: JSONDecodingOptions = .init()) throws(ProtoJSONError) {
    let result = bytes.withUnsafeBytes { raw in Self.decode(raw, options: options) }
    self = try result.get()
  }

  /// Decodes a whole JSON text from a string.
  @inlinable
  public init(jsonString: String, options: JSONDecodingOptions = .init()) throws(ProtoJSONError) {
    var text = jsonString
    let result = text.withUTF8 { Self.decode(UnsafeRawBufferPointer($0), options: options) }
    self = try result.get()
  }

  @usableFromInline
  static func decode(
    _ bytes: UnsafeRawBufferPointer, options: JSONDecodingOptions
  ) -> Result<Self, ProtoJSONError> {
    do throws(ProtoJSONError) {
      return .success(try Self(jsonUTF8: bytes, options: options))
    } catch {
      return .failure(error)
    }
  }

  /// Returns the message as canonical ProtoJSON in UTF-8.
  public func jsonUTF8Bytes() -> [UInt8] {
    var writer = JSONWriter()
    encode(to: &writer)
    return writer.withUnsafeBytes { Array($0) }
  }

  /// Returns the message as canonical ProtoJSON.
  public func jsonString() -> String {
    var writer = JSONWriter()
    encode(to: &writer)
    return writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }
}
