/// The requests of a run, sent in rotation.
public struct RequestSet: Sendable {
  let templates: [RequestTemplate]

  /// Maximum number of requests.
  public static let countMax = 100_000
  /// Maximum total size of the requests in bytes.
  public static let sizeBytesMax = 64 << 20

  /// Creates a set of a single request.
  ///
  /// - Throws: `LOAD_REQUEST_INVALID` for an invalid request.
  public init(_ bytes: [UInt8]) throws(LoadError) {
    templates = [try RequestTemplate(bytes)]
  }

  /// Creates a set from text with one request per line. Blank lines are ignored.
  ///
  /// - Throws: `LOAD_REQUEST_INVALID`, with the line number of an invalid request.
  public init(lines bytes: [UInt8]) throws(LoadError) {
    guard bytes.count <= Self.sizeBytesMax else {
      throw LoadError(.requestInvalid, field: "requests", reason: "more than \(Self.sizeBytesMax) bytes")
    }
    var templates: [RequestTemplate] = []
    for (number, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
      if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
      guard templates.count < Self.countMax else {
        throw LoadError(.requestInvalid, field: "requests", reason: "more than \(Self.countMax) lines")
      }
      templates.append(try RequestTemplate(Array(line), field: "line \(number + 1)"))
    }
    guard !templates.isEmpty else { throw LoadError(.requestInvalid, field: "requests", reason: "there is no request") }
    self.templates = templates
  }

  var usesReply: Bool { templates.contains(where: \.usesReply) }
}
