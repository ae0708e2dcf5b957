import CampanileAPI
import CampanileBase
import CampanileRPC

/// Downloads of an asset's content: `GET /sync/v1/zones/{zoneId}/assets/{name}/content`, with conditions and
/// ranges (RFC 9110 sections 13 and 14).
///
/// The content comes from `DownloadAsset`, whose first message has the data for the headers.
enum AssetContent {
  /// The path in OpenAPI's syntax.
  static let path = "/sync/v1/zones/{zoneId}/assets/{name}/content"

  /// Decides how to handle a request for an asset's content. Returns nil for other paths.
  static func decide(
    _ request: RequestHead, segments: [Substring], table: HTTPTable, _ target: inout HTTPJudgedTarget
  ) throws(RPCError) -> HTTPDecision? {
    guard segments.count == 7, segments[..<3] == ["sync", "v1", "zones"], segments[4] == "assets",
      segments[6] == "content", let method = table.method(AssetsServiceMethods.downloadAsset.path[...])
    else { return nil }
    let uploader = table.method(AssetsServiceMethods.putAsset.path[...])
    let verbs = ["GET", "HEAD"] + (uploader == nil ? [] : ["PUT"])
    let put = request.method == "PUT" ? uploader : nil
    target.method = (put ?? method).path
    try request.checkSingles()
    let zone = try RequestPath.decoded(segments[3])
    let name = try RequestPath.decoded(segments[5])
    if let put {
      var tree = ParamsTree()
      try put.binding.bind(["zoneId"], zone, into: &tree)
      try put.binding.bind(["put", "name"], name, into: &tree)
      return .upload(try UploadPlan(request, tree: tree, method: put))
    }
    guard verbs.contains(request.method) else { return HTTPRefusal.notAllowed(verbs, style: .rest) }
    guard !request.hasBody else { throw HTTPPlan.bodyUnexpected }
    let query = try QueryText(request.query)
    var tree = ParamsTree()
    try method.binding.bind(["zoneId"], zone, into: &tree)
    try method.binding.bind(["name"], name, into: &tree)
    for parameter in query.parameters {
      guard parameter.name == "version" else {
        throw RPCError.invalidField(
          String(parameter.name.prefix(128)), "there is no such parameter", reason: "QUERY_INVALID")
      }
      try method.binding.bind(["version"], parameter.value, into: &tree)
    }
    // Only the content itself could show whether `If-Range` holds. Sending the whole content is always correct.
    let range = request["if-range"] == nil ? request["range"].flatMap(ByteRange.init) : nil
    if let range, range.first > 0 { try method.binding.bind(["offset"], String(range.first), into: &tree) }
    var plan = HTTPPlan(method: method.path, style: .content, params: .bound(tree, .none), takesBody: false)
    plan.metadata = try request.metadata()
    plan.timeoutMs = try ConnectRequest.timeoutMs(request["connect-timeout-ms"])
    plan.ifNoneMatch = request["if-none-match"]
    plan.range = range
    return .call(plan)
  }
}

/// The range of bytes that a request asks for.
struct ByteRange: Sendable, Hashable {
  var first: Int64
  /// Inclusive; `nil` means to the end.
  var last: Int64?

  /// Parses a `Range` header. Returns nil for headers that may be ignored: other units, multiple ranges, suffix ranges
  /// and invalid text.
  init?(_ value: String) {
    let text = value.trimmingSpaces
    guard text.utf8.count <= 64, text.hasPrefix("bytes="), !text.contains(",") else { return nil }
    let parts = text.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let first = Self.number(parts[0]) else { return nil }
    self.first = first
    guard !parts[1].isEmpty else { return }
    guard let last = Self.number(parts[1]), last >= first else { return nil }
    self.last = last
  }

  private static func number(_ text: Substring) -> Int64? {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
  }
}

/// Progress of sending a content.
struct ContentProgress: Sendable, Hashable {
  /// The content length that the headers announce.
  let length: Int64
  private(set) var sent: Int64 = 0
  /// Whether the range ends before the content does.
  let isCut: Bool

  init(length: Int64, isCut: Bool) {
    self.length = length
    self.isCut = isCut
  }

  var isComplete: Bool { sent == length }

  /// Returns how many of the next `count` bytes to send, and counts them as sent.
  mutating func take(_ count: Int) -> Int {
    let taken = min(Int64(count), length - sent)
    sent += taken
    return Int(taken)
  }
}

/// The head of a response with a content.
struct ContentHead: Sendable {
  var status: Int
  var headers: [(String, String)]
  /// Nil for a response without a body.
  var progress: ContentProgress?

  init(_ asset: Asset, range: ByteRange?, ifNoneMatch: String?) {
    let size = max(0, asset.sizeBytes)
    var headers = [("Accept-Ranges", "bytes"), ("Cache-Control", "private, no-cache")]
    if let tag = EntityTag.header(asset.etag) { headers.append(("ETag", tag)) }
    if let ifNoneMatch, EntityTag.noneMatch(ifNoneMatch, names: asset.etag) {
      (status, self.headers) = (304, headers)
      return
    }
    if let range, range.first >= size {
      (status, self.headers) = (416, headers + [("Content-Range", "bytes */\(size)"), ("Content-Length", "0")])
      return
    }
    let first = range?.first ?? 0
    let last = min(range?.last ?? (size - 1), size - 1)
    let length = last - first + 1
    headers += [("Content-Type", "application/json"), ("Content-Length", String(length))]
    if let digest = Self.digest(asset.sha256) { headers.append(("Repr-Digest", digest)) }
    if range != nil { headers.append(("Content-Range", "bytes \(first)-\(last)/\(size)")) }
    (status, self.headers) = (range == nil ? 200 : 206, headers)
    progress = ContentProgress(length: length, isCut: last < size - 1)
  }

  /// Returns the digest of the whole content for `Repr-Digest` (RFC 9530 section 3).
  static func digest(_ hexadecimal: String) -> String? {
    guard let bytes = Hexadecimal.bytes(hexadecimal), bytes.count == 32 else { return nil }
    return "sha-256=:\(Base64.text(bytes)):"
  }
}
