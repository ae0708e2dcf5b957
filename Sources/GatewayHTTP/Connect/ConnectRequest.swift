import CampanileBase
import CampanileCodec
import CampanileRPC

/// Parses requests of the Connect protocol (connectrpc.com/docs/protocol). Messages are JSON or protobuf.
enum ConnectRequest {
  static let unaryType = "application/json"
  static let streamType = "application/connect+json"
  static let binaryUnaryType = "application/proto"
  static let binaryStreamType = "application/connect+proto"
  static let timeoutDigitsMax = 10

  enum Shape: Sendable, Hashable {
    case unary, stream
    case binaryUnary, binaryStream

    var isBinary: Bool { self == .binaryUnary || self == .binaryStream }
    var isStream: Bool { self == .stream || self == .binaryStream }
  }

  /// Returns the shape that a POST's content type declares; nil for unsupported types, which get 415.
  static func shape(contentType: String?) -> Shape? {
    guard let contentType else { return nil }
    let parts = contentType.split(separator: ";", omittingEmptySubsequences: false)
    for parameter in parts.dropFirst() {
      let text = String(parameter).trimmingSpaces.lowercased()
      guard !text.hasPrefix("charset=") || text == "charset=utf-8" || text == "charset=\"utf-8\"" else { return nil }
    }
    switch String(parts[0]).trimmingSpaces.lowercased() {
    case unaryType: return .unary
    case streamType: return .stream
    case binaryUnaryType: return .binaryUnary
    case binaryStreamType: return .binaryStream
    default: return nil
    }
  }

  /// Throws INVALID_ARGUMENT `PROTOCOL_UNSUPPORTED` for any version other than 1.
  static func checkVersion(_ value: String?) throws(RPCError) {
    guard let value, value != "1" else { return }
    throw RPCError(
      .invalidArgument, "connect-protocol-version must be 1", reason: "PROTOCOL_UNSUPPORTED", processed: false)
  }

  /// Returns the milliseconds of `connect-timeout-ms`. Throws INVALID_ARGUMENT `TIMEOUT_INVALID` unless the text is 1
  /// to 10 digits.
  static func timeoutMs(_ value: String?) throws(RPCError) -> Int64? {
    guard let value else { return nil }
    guard (1...timeoutDigitsMax).contains(value.utf8.count),
      value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let timeoutMs = Int64(value)
    else {
      throw RPCError(
        .invalidArgument, "connect-timeout-ms must be 1 to \(timeoutDigitsMax) digits", reason: "TIMEOUT_INVALID",
        processed: false)
    }
    return timeoutMs
  }

  /// Returns whether the `encoding` of a GET is protobuf. Throws the errors of `message(of:)`.
  static func isBinary(_ query: QueryText) throws(RPCError) -> Bool {
    if let version = query["connect"], version != "v1" { throw invalid("connect must be v1") }
    guard let encoding = query["encoding"] else { throw invalid("encoding is missing") }
    guard encoding == "json" || encoding == "proto" else {
      throw unsupported("encoding must be json or proto", "CODEC_UNSUPPORTED")
    }
    return encoding == "proto"
  }

  /// Returns the message of a GET: `message=…` with `encoding=json` or `encoding=proto`, `base64=1` for base64url, and
  /// `compression=gzip`, which requires base64.
  ///
  /// - Throws: INVALID_ARGUMENT `QUERY_INVALID` for a missing or invalid parameter, UNIMPLEMENTED `CODEC_UNSUPPORTED`
  ///   or `COMPRESSION_UNSUPPORTED` for unsupported values, and the errors of `Gunzip`.
  static func message(of query: QueryText, bytesMax: Int) throws(RPCError) -> [UInt8] {
    let compression = query["compression"] ?? ""
    guard ["", "identity", "gzip"].contains(compression) else {
      throw unsupported("compression must be identity or gzip", "COMPRESSION_UNSUPPORTED")
    }
    guard let message = query["message"] else { throw invalid("message is missing") }
    switch query["base64"] {
    case nil, "0":
      guard compression != "gzip" else { throw invalid("a compressed message needs base64=1") }
      return Array(message.utf8)
    case "1":
      guard let bytes = Base64.decode(message) else { throw invalid("message is not base64") }
      guard compression == "gzip", !bytes.isEmpty else { return bytes }
      let outcome = bytes.withUnsafeBytes { raw -> Result<[UInt8], RPCError> in
        do throws(RPCError) { return .success(try Gunzip.decompress(raw, bytesMax: bytesMax)) } catch {
          return .failure(error)
        }
      }
      return try outcome.get()
    default: throw invalid("base64 must be 1")
    }
  }

  private static func invalid(_ why: String) -> RPCError {
    RPCError(.invalidArgument, why, reason: "QUERY_INVALID", processed: false)
  }
  private static func unsupported(_ why: String, _ reason: String) -> RPCError {
    RPCError(.unimplemented, why, reason: reason, processed: false)
  }
}
