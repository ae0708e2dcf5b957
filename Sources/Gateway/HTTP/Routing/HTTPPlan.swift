import CampanileCodec
import CampanileRPC

/// What a request asks for, decided by its head.
enum HTTPDecision {
  case call(HTTPPlan)
  /// A content that is brought as the body.
  case upload(UploadPlan)
  /// A request in an app's own words.
  case dialect(DialectPlan)
  /// A whole answer: status, headers and body.
  case answer(Int, [(String, String)], [UInt8])
  /// `/metrics` and the like.
  case operations(String)
  case refusal(HTTPRefusal)
}

/// A failure that the gateway itself finds out, in the form of the face that was asked.
struct HTTPRefusal {
  var error: RPCError
  var style: HTTPPlan.Style
  var headers: [(String, String)] = []
}

/// One call that a request asks for.
struct HTTPPlan {
  /// How the answer is written.
  enum Style: Sendable, Hashable {
    case connectUnary
    case connectStream
    case rest
    /// Server-sent events.
    case events
    /// One message a line.
    case lines
    /// The bytes of an asset.
    case content

    var isStream: Bool { self != .connectUnary && self != .rest }
  }

  /// Where the request message comes from.
  enum Params {
    /// The body is the message.
    case body
    /// The body is one envelope with the message, which may be compressed with gzip.
    case envelope(isGzip: Bool, bytesMax: Int)
    /// The body is one envelope after the other, each a message of a stream.
    case messages(isGzip: Bool)
    case fixed([UInt8])
    case bound(ParamsTree, RESTBinding.Body)
  }

  /// The method's name on the wire.
  var method: [UInt8]
  var style: Style
  var params: Params
  var metadata = Metadata()
  var timeoutMs: Int64?
  /// The member of each message that is the event's id.
  var token: String?
  /// Whether the result of the call is the one message of the answer's stream.
  var endsWithMessage = false
  /// Whether `If-Match` was sent.
  var hasCondition = false
  /// Where a response has its etag.
  var etag: [String]?
  var ifNoneMatch: String?
  /// Of a content.
  var range: ByteRange?
  var takesBody: Bool
  /// Set where the caller's messages are protobuf's binary form.
  var binary: BinaryForm?

  struct BinaryForm: Sendable {
    var index: SchemaIndex
    var request: String
    var response: String
  }

  /// Writes the request message and hands it to `use`. Throws INVALID_ARGUMENT for a body that is none.
  func withParams<R>(
    _ body: UnsafeRawBufferPointer, _ use: (UnsafeRawBufferPointer) -> R
  ) throws(RPCError) -> R {
    switch params {
    case .body: return try read(body, use).get()
    case .envelope(let isGzip, let bytesMax):
      return try ConnectEnvelope.withSingle(body, isGzip: isGzip, bytesMax: bytesMax) { read($0, use) }
    // Begun with the head, without a message.
    case .messages: return use(UnsafeRawBufferPointer(start: nil, count: 0))
    case .fixed(let bytes):
      return try bytes.withUnsafeBytes { read($0, use) }.get()
    case .bound(let tree, let kind): return try withBound(tree, kind, body, use)
    }
  }

  /// Hands one message of a stream of the caller's to `use`. Throws INVALID_ARGUMENT for one that is none.
  func withMessage(_ bytes: [UInt8], _ use: (UnsafeRawBufferPointer) -> Void) throws(RPCError) {
    try bytes.withUnsafeBytes { read($0, use) }.get()
  }

  /// Hands one message of the caller's to `use`, as JSON that is checked.
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
    var isWritten = body.isEmpty
    for member in members {
      writer.key(member.jsonName)
      guard member.name == name || member.jsonName == name, !body.isEmpty, case .object(let inner) = member.node else {
        member.node.write(to: &writer)
        continue
      }
      isWritten = true
      inner.write(to: &writer, over: body)
    }
    if !isWritten {
      writer.key(name)
      writer.append(raw: body)
    }
    writer.endObject(object)
  }
}
