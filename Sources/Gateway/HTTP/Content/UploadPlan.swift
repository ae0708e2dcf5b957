import CampanileAPI
import CampanileCodec
import CampanileCrypto
import CampanileRPC

/// A new content for an asset, brought as the body of `PUT /v1/zones/{zone}/assets/{name}/content`.
///
/// The body may be as long as the service takes: it is not held here, see `ContentUpload`.
struct UploadPlan: Sendable {
  /// Without its content.
  var request: PutAssetRequest
  var condition: Condition?
  var sizeBytes: Int64
  /// Of the content, in hexadecimal digits.
  var sha256: String
  var authorization: String?
  var metadata: [(String, String)]

  enum Condition: Sendable, Hashable {
    /// `If-Match: *`.
    case exists
    case matches(String)
    /// `If-None-Match: *`.
    case isNew
  }

  /// The fields of `AssetPut` that the query may set.
  private static let queryFields: Set<String> = [
    "recordType", "syncTimestamp", "recordCount", "baseEtag", "onConflict", "strict",
  ]
  /// Not of the calls that an upload is made of.
  private static let metadataLeft: Set<String> = ["authorization", "digest", "repr-digest"]

  /// Throws INVALID_ARGUMENT: `LENGTH_REQUIRED` without a `Content-Length`, `DIGEST_REQUIRED` without a SHA-256, `DIGEST_INVALID`
  /// for one that is none, `CONDITION_UNSUPPORTED`, `CONTENT_ENCODING_UNSUPPORTED`, `IDEMPOTENCY_KEY_UNSUPPORTED`, and what the query's binding throws.
  init(_ request: HTTPRequestText, tree: ParamsTree, method: HTTPMethod) throws(RPCError) {
    var tree = tree
    for parameter in try QueryText(request.query).parameters {
      let isPut = Self.queryFields.contains(parameter.name)
      guard isPut || parameter.name == "deviceId" else {
        throw RPCError.invalidField(
          String(parameter.name.prefix(128)), "there is no such parameter", reason: "QUERY_INVALID")
      }
      try method.binding.bind((isPut ? ["put"] : []) + [parameter.name], parameter.value, into: &tree)
    }
    self.request = try Self.message(tree)
    condition = try Self.condition(request)
    // What a coding leaves of the bytes would have another length and another digest than was declared.
    guard request["content-encoding"].map({ $0.lowercased() == "identity" }) ?? true else {
      throw RPCError(
        .invalidArgument, "a content is sent as it is", reason: "CONTENT_ENCODING_UNSUPPORTED", processed: false)
    }
    // The calls that an upload is made of are others each time; a PUT is idempotent as it is (RFC 9110 section 9.2.2).
    guard request["idempotency-key"] == nil else {
      throw RPCError.invalidField(
        "idempotency-key", "a content is put again as it is: If-Match or If-None-Match tell whether it was put before",
        reason: "IDEMPOTENCY_KEY_UNSUPPORTED")
    }
    guard let length = request["content-length"].flatMap({ Int64($0) }) else {
      throw RPCError(
        .invalidArgument, "Content-Length must tell the size", reason: "LENGTH_REQUIRED", processed: false)
    }
    sizeBytes = length
    sha256 = try ContentDigest.sha256(request)
    authorization = request["authorization"]
    metadata = try request.metadata().entries.filter { !Self.metadataLeft.contains($0.key) }.map { ($0.key, $0.value) }
  }

  private static func message(_ tree: ParamsTree) throws(RPCError) -> PutAssetRequest {
    var writer = JSONWriter()
    tree.write(to: &writer)
    let bytes = writer.withUnsafeBytes { [UInt8]($0) }
    do throws(ProtoJSONError) { return try PutAssetRequest(jsonUTF8: bytes) } catch {
      throw RPCError.invalidField(error.fieldPath, error.message, reason: error.reason)
    }
  }

  private static func condition(_ request: HTTPRequestText) throws(RPCError) -> Condition? {
    let match = request["if-match"]
    guard let none = request["if-none-match"] else {
      guard let match else { return nil }
      switch EntityTag.condition(match) {
      case .any: return .exists
      case .one(let etag): return .matches(etag)
      case .unusable:
        throw RPCError.invalidField("if-match", "it must be one strong entity tag", reason: "CONDITION_UNSUPPORTED")
      }
    }
    guard match == nil, none.trimmingSpaces == "*" else {
      throw RPCError.invalidField(
        "if-none-match", "it must be *, and stand alone", reason: "CONDITION_UNSUPPORTED")
    }
    return .isNew
  }
}

/// The SHA-256 that a request says its content has: `Repr-Digest` or `Content-Digest` (RFC 9530), or the `Digest` of RFC 3230.
enum ContentDigest {
  static func sha256(_ request: HTTPRequestText) throws(RPCError) -> String {
    var found: Set<String> = []
    for (name, value) in request.headers {
      let isLegacy = name.lowercased() == "digest"
      guard isLegacy || ["repr-digest", "content-digest"].contains(name.lowercased()) else { continue }
      for member in value.split(separator: ",") {
        guard let digest = try read(String(member).trimmingSpaces, isLegacy: isLegacy) else { continue }
        found.insert(digest)
      }
    }
    guard found.count <= 1 else { throw fault("two digests contradict each other", "DIGEST_INVALID") }
    guard let digest = found.first else {
      throw fault("Repr-Digest must tell the SHA-256 of the content: sha-256=:<base64>:", "DIGEST_REQUIRED")
    }
    return digest
  }

  /// `nil` for other algorithms.
  private static func read(_ member: String, isLegacy: Bool) throws(RPCError) -> String? {
    guard let mark = member.firstIndex(of: "="), member[..<mark].lowercased() == "sha-256" else { return nil }
    var text = member[member.index(after: mark)...]
    if !isLegacy {
      guard text.utf8.count >= 2, text.hasPrefix(":"), text.hasSuffix(":") else {
        throw fault("a digest stands between colons", "DIGEST_INVALID")
      }
      text = text.dropFirst().dropLast()
    }
    guard text.utf8.count == 44, let bytes = Base64.decode(String(text)), bytes.count == 32 else {
      throw fault("the digest is not 32 bytes in base64", "DIGEST_INVALID")
    }
    return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  private static func fault(_ message: String, _ reason: String) -> RPCError {
    RPCError(.invalidArgument, message, reason: reason, processed: false)
  }
}
