import CampanileAPI
import CampanileRPC

/// An asset's content as the bytes of a response: `GET /v1/zones/{zone}/assets/{name}/content`, with conditions and ranges
/// (RFC 9110 sections 13 and 14). Behind it is `DownloadAsset`, whose first message says what the headers need.
enum AssetContent {
  /// The path as OpenAPI writes it.
  static let path = "/v1/zones/{zone}/assets/{name}/content"
  private static let verbs = ["GET", "HEAD", "PUT"]

  /// `nil` for other paths.
  static func decide(
    _ request: HTTPRequestText, segments: [Substring], table: HTTPTable
  ) throws(RPCError) -> HTTPDecision? {
    guard segments.count == 6, segments[0] == "v1", segments[1] == "zones", segments[3] == "assets",
      segments[5] == "content", let method = table.method(AssetsServiceMethods.downloadAsset.path[...])
    else { return nil }
    let zone = try PathText.decoded(segments[2])
    let name = try PathText.decoded(segments[4])
    if request.method == "PUT", let put = table.method(AssetsServiceMethods.putAsset.path[...]) {
      var tree = ParamsTree()
      try put.binding.bind(["zone"], zone, into: &tree)
      try put.binding.bind(["put", "name"], name, into: &tree)
      return .upload(try UploadPlan(request, tree: tree, method: put))
    }
    guard verbs.contains(request.method) else { return HTTPRefusal.notAllowed(verbs, style: .rest) }
    guard !request.hasBody else { throw HTTPPlan.bodyUnexpected }
    let query = try QueryText(request.query)
    var tree = ParamsTree()
    try method.binding.bind(["zone"], zone, into: &tree)
    try method.binding.bind(["name"], name, into: &tree)
    for parameter in query.parameters {
      guard parameter.name == "version" else {
        throw RPCError.invalidField(
          String(parameter.name.prefix(128)), "there is no such parameter", reason: "QUERY_INVALID")
      }
      try method.binding.bind(["version"], parameter.value, into: &tree)
    }
    // Of a condition on a range only the content itself could tell whether it holds: the whole is always a right answer.
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

/// One range of bytes that a request asks for.
struct ByteRange: Sendable, Hashable {
  var first: Int64
  /// Inclusive; `nil` means to the end.
  var last: Int64?

  /// `nil` for what may be ignored: other units, several ranges, the last so many bytes, and what is no range.
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

/// How far a content has been sent.
struct ContentProgress: Sendable, Hashable {
  /// Bytes that the headers promise.
  let length: Int64
  private(set) var sent: Int64 = 0
  /// Whether the range ends before the content does.
  let isCut: Bool

  init(length: Int64, isCut: Bool) {
    self.length = length
    self.isCut = isCut
  }

  var isComplete: Bool { sent == length }

  /// How many of the next `count` bytes are to be sent.
  mutating func take(_ count: Int) -> Int {
    let taken = min(Int64(count), length - sent)
    sent += taken
    return Int(taken)
  }
}

/// The head of an answer with a content.
struct ContentHead: Sendable {
  var status: Int
  var headers: [(String, String)]
  /// `nil` for an answer without a body.
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

  /// The hash of the whole content (RFC 9530 section 3).
  static func digest(_ hexadecimal: String) -> String? {
    let digits = Array(hexadecimal.utf8)
    guard digits.count == 64 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: 64, by: 2) {
      guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else { return nil }
      bytes.append(byte)
    }
    return "sha-256=:\(ErrorBody.base64(bytes)):"
  }
}
