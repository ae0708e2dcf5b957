import CampanileBase
import CampanileCodec
import CampanileRPC

/// The decision on a request's head.
enum HTTPDecision {
  case call(HTTPPlan)
  /// An upload of a content in the body.
  case upload(UploadPlan)
  /// A request to an app's own API.
  case dialect(DialectPlan)
  /// A complete response: status, headers and body.
  case answer(Int, [(String, String)], [UInt8])
  /// `/healthz` or `/readyz`.
  case operations(String)
  case refusal(HTTPRefusal)
}

/// An error that the gateway itself detects, in the style of the request.
struct HTTPRefusal {
  var error: RPCError
  var style: HTTPPlan.Style
  var headers: [(String, String)] = []
  /// The methods that the path supports; nil unless the request's is not among them.
  var allowed: [String]?
  /// Whether the connection ends without reading further.
  var endsConnection = false
}

/// The call that a request asks for.
struct HTTPPlan {
  /// The form of the response.
  enum Style: Sendable, Hashable {
    case connectUnary
    case connectStream
    case rest
    /// Server-sent events.
    case events
    /// One message per line.
    case lines
    /// The bytes of an asset.
    case content

    var isStream: Bool { self != .connectUnary && self != .rest }
  }

  /// The source of the request message.
  enum Params {
    /// The body is the message.
    case body
    /// The body is a single envelope with the message, which may be compressed with gzip.
    case envelope(isGzip: Bool)
    /// The body is a sequence of envelopes, each with one message of the stream.
    case messages(isGzip: Bool)
    /// The message is in the query. `resume` replaces the position at which a stream starts.
    case query(QueryText, resume: ParamsTree?)
    case bound(ParamsTree, RESTBinding.Body)
  }

  /// The method's wire name.
  var method: [UInt8]
  var style: Style
  var params: Params
  var metadata = Metadata()
  var timeoutMs: Int64?
  /// The JSON name of the member that becomes the event's id.
  var token: String?
  /// Whether the call's result is the only message of the response stream.
  var endsWithMessage = false
  /// Whether `If-Match` was sent.
  var hasCondition = false
  /// Path of the response's etag.
  var etag: [String]?
  var ifNoneMatch: String?
  /// The requested range of a content.
  var range: ByteRange?
  var takesBody: Bool
  /// Set if the caller's messages use protobuf's binary form.
  var binary: BinaryForm?

  struct BinaryForm: Sendable {
    var index: SchemaIndex
    var request: String
    var response: String
  }

  /// Passes the request message to `use`, as validated JSON.
  ///
  /// - Parameter bytesMax: Maximum size of the message after decompression.
  /// - Throws: INVALID_ARGUMENT for an invalid body.
  func withParams<R>(
    _ body: UnsafeRawBufferPointer, bytesMax: Int, _ use: (UnsafeRawBufferPointer) -> R
  ) throws(RPCError) -> R {
    switch params {
    case .body: return try read(body, use).get()
    case .envelope(let isGzip):
      return try ConnectEnvelope.withSingle(body, isGzip: isGzip, bytesMax: bytesMax) { read($0, use) }
    // The call starts with the head, without a message.
    case .messages: return use(UnsafeRawBufferPointer(start: nil, count: 0))
    case .query(let query, let resume):
      let bytes = try ConnectRequest.message(of: query, bytesMax: bytesMax)
      guard let resume else { return try bytes.withUnsafeBytes { read($0, use) }.get() }
      return try bytes.withUnsafeBytes { raw -> Result<R, RPCError> in
        Result { () throws(RPCError) in try withBound(resume, .whole, raw, use) }
      }.get()
    case .bound(let tree, let kind): return try withBound(tree, kind, body, use)
    }
  }

  /// Passes one message of the caller's stream to `use`. Throws INVALID_ARGUMENT if it is invalid.
  func withMessage(_ bytes: [UInt8], _ use: (UnsafeRawBufferPointer) -> Void) throws(RPCError) {
    try bytes.withUnsafeBytes { read($0, use) }.get()
  }

  /// Passes one message to `use`, as validated JSON.
  private func read<R>(
    _ bytes: UnsafeRawBufferPointer, _ use: (UnsafeRawBufferPointer) -> R
  ) -> Result<R, RPCError> {
    do throws(RPCError) {
      guard let binary else { return .success(use(try Self.checked(bytes))) }
      let json = try ProtobufToJSON.convert(bytes, binary.request, binary.index)
      return .success(json.withUnsafeBytes(use))
    } catch { return .failure(error) }
  }

  private static func checked(_ bytes: UnsafeRawBufferPointer) throws(RPCError) -> UnsafeRawBufferPointer {
    if !bytes.isEmpty { try RawJSON.checkObject(bytes) }
    return bytes
  }

  private func withBound<R>(
    _ tree: ParamsTree, _ kind: RESTBinding.Body, _ body: UnsafeRawBufferPointer,
    _ use: (UnsafeRawBufferPointer) -> R
  ) throws(RPCError) -> R {
    var writer = JSONWriter()
    switch kind {
    case .none: tree.write(to: &writer)
    case .whole:
      let whole = try Self.checked(body)
      if tree.isEmpty { return use(whole) }
      tree.write(to: &writer, over: whole)
    case .field(let name):
      if !body.isEmpty { try RawJSON.checkValue(body) }
      tree.write(to: &writer, field: name, body)
    }
    return writer.withUnsafeBytes(use)
  }
}

extension ParamsTree {
  /// Writes the tree with `body` as the value of one field.
  func write(to writer: inout JSONWriter, field name: String, _ body: UnsafeRawBufferPointer) {
    let object = writer.beginObject()
    let isGiven = !body.isEmpty && !body.isJSONNull
    var isWritten = !isGiven
    for member in members {
      writer.key(member.jsonName)
      guard member.name == name || member.jsonName == name, isGiven, case .object(let inner) = member.node else {
        member.node.write(to: &writer)
        continue
      }
      isWritten = true
      inner.writeMerged(to: &writer, over: body)
    }
    if !isWritten {
      writer.key(name)
      writer.append(raw: body)
    }
    writer.endObject(object)
  }
}
