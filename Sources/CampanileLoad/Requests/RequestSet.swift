/// The requests of a run, sent in turn.
public struct RequestSet: Sendable {
  let templates: [RequestTemplate]

  /// The most requests that a set has, and their bytes in all.
  public static let countMax = 100_000
  public static let sizeBytesMax = 64 << 20

  /// The same request again and again.
  public init(_ bytes: [UInt8]) throws(LoadError) {
    templates = [try RequestTemplate(bytes)]
  }

  /// One request a line; empty lines are left out. Throws `LOAD_REQUEST_INVALID` with the number of the line.
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
