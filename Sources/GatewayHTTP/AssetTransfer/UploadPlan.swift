import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC

/// A new content for an asset, sent as the body of `PUT /sync/v1/zones/{zoneId}/assets/{name}/content`.
///
/// The body may be as long as the service allows, because it is not buffered here; see `ContentUpload`.
struct UploadPlan: Sendable {
  /// The request without its content.
  var request: PutAssetRequest
  var condition: Condition?
  var sizeBytes: Int64
  /// SHA-256 of the content in hexadecimal digits.
  var sha256: String
  var authorization: String?
  /// `PutAsset`, whose scope authorizes the request.
  let method: [UInt8]
  var metadata: [(String, String)]

  enum Condition: Sendable, Hashable {
    /// `If-Match: *`.
    case exists
    case matches(String)
    /// `If-None-Match: *`.
    case isNew
  }

  /// Fields of `AssetPut` that the query may set.
  static let queryFields: Set<String> = [
    "recordType", "syncTime", "recordCount", "baseEtag", "onConflict", "strict",
  ]
  /// Metadata that is not passed on to the calls of the upload.
  private static let metadataLeft: Set<String> = ["authorization", "digest", "repr-digest"]

  /// Creates a plan from a request's head.
  ///
  /// - Throws: INVALID_ARGUMENT `LENGTH_REQUIRED` without a `Content-Length`, `DIGEST_REQUIRED` without a SHA-256, or
  ///   `DIGEST_INVALID` for a malformed one. Also `CONDITION_UNSUPPORTED`, `CONTENT_ENCODING_UNSUPPORTED`,
  ///   `IDEMPOTENCY_KEY_UNSUPPORTED`, and the errors of the query's binding.
  init(_ request: RequestHead, tree: ParamsTree, method: HTTPMethod) throws(RPCError) {
    var tree = tree
    self.method = method.path
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
    // The service would refuse the put as well, but only after it has received the content.
    guard condition != nil || self.request.put?.onConflict != .unspecified else {
      throw RPCError.invalidField(
        "put.onConflict", "must be set without If-Match and If-None-Match", reason: "REQUIRED")
    }
    // Encoded bytes would differ from the declared length and digest.
    guard request["content-encoding"].map({ $0.lowercased() == "identity" }) ?? true else {
      throw RPCError(
        .invalidArgument, "the content must not be encoded", reason: "CONTENT_ENCODING_UNSUPPORTED", processed: false)
    }
    // A repeated upload consists of different calls, so a key would not help. PUT is idempotent anyway (RFC 9110
    // section 9.2.2).
    guard request["idempotency-key"] == nil else {
      throw RPCError.invalidField(
        "idempotency-key", "not supported for contents; use If-Match or If-None-Match to detect an earlier put",
        reason: "IDEMPOTENCY_KEY_UNSUPPORTED")
    }
    guard let length = request["content-length"].flatMap({ Int64($0) }) else {
      throw RPCError(
        .invalidArgument, "the request must have a Content-Length", reason: "LENGTH_REQUIRED", processed: false)
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
      throw RPCError.invalidField(error.fieldPath, error.detail, reason: error.reason)
    }
  }

  private static func condition(_ request: RequestHead) throws(RPCError) -> Condition? {
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
        "if-none-match", "it must be * and the only condition", reason: "CONDITION_UNSUPPORTED")
    }
    return .isNew
  }
}

/// The SHA-256 that a request declares for its content: `Repr-Digest` or `Content-Digest` (RFC 9530), or `Digest` (RFC
/// 3230).
enum ContentDigest {
  static func sha256(_ request: RequestHead) throws(RPCError) -> String {
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
      throw fault("Repr-Digest must give the SHA-256 of the content: sha-256=:<base64>:", "DIGEST_REQUIRED")
    }
    return digest
  }

  /// Returns the digest in hexadecimal digits; nil for other algorithms.
  private static func read(_ member: String, isLegacy: Bool) throws(RPCError) -> String? {
    guard let mark = member.firstIndex(of: "="), member[..<mark].lowercased() == "sha-256" else { return nil }
    var text = member[member.index(after: mark)...]
    if !isLegacy {
      guard text.utf8.count >= 2, text.hasPrefix(":"), text.hasSuffix(":") else {
        throw fault("the digest must be enclosed in colons", "DIGEST_INVALID")
      }
      text = text.dropFirst().dropLast()
    }
    guard text.utf8.count == 44, let bytes = Base64.decode(String(text)), bytes.count == 32 else {
      throw fault("the digest is not 32 bytes in base64", "DIGEST_INVALID")
    }
    return Hexadecimal.text(bytes)
  }

  private static func fault(_ message: String, _ reason: String) -> RPCError {
    RPCError(.invalidArgument, message, reason: reason, processed: false)
  }
}
