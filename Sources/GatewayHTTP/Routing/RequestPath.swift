package import CampanileBase
import CampanileRPC

/// Splits and decodes the target of a request: path, query and percent encoding (RFC 3986 section 2.1).
package enum RequestPath {
  static let targetBytesMax = 8192
  static let segmentCountMax = 32

  /// Returns the segments of a path, still encoded: `/v1/a%20b` gives `["v1", "a%20b"]`.
  ///
  /// - Throws: INVALID_ARGUMENT `PATH_INVALID` for a target that is not a path, an empty segment, or `.` and `..` in
  ///   any encoding. Also for invalid percent encoding, control characters, and text that is not UTF-8.
  static func segments(of path: Substring) throws(RPCError) -> [Substring] {
    guard path.utf8.first == UInt8(ascii: "/") else { throw invalid("the target must begin with a slash") }
    let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    guard segments.count <= segmentCountMax else { throw invalid("the path has more than \(segmentCountMax) segments") }
    for segment in segments {
      let text = try decoded(segment)
      guard !text.isEmpty || segments.count == 1 else { throw invalid("the path has an empty segment") }
      guard text != ".", text != ".." else { throw invalid("the path has a segment that is . or ..") }
    }
    return segments
  }

  /// Decodes percent encoding. Throws the errors of `segments(of:)` for invalid text.
  package static func decoded(_ text: Substring, plusIsSpace: Bool = false) throws(RPCError) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
          throw invalid("a percent sign is not followed by two hexadecimal digits")
        }
        bytes.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    guard let decoded = String(validating: bytes, as: UTF8.self) else { throw invalid("the text is not UTF-8") }
    // Query values may contain whitespace such as line breaks; other control characters are never allowed.
    let isAllowed = bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F || plusIsSpace && (0x09...0x0D).contains($0) }
    guard isAllowed else { throw invalid("the text has control characters") }
    return decoded
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  private static func invalid(_ why: String) -> RPCError {
    RPCError(.invalidArgument, why, reason: "PATH_INVALID", processed: false)
  }
}

/// The decoded parameters of a query (application/x-www-form-urlencoded), in their original order.
package struct QueryText: Sendable, Hashable {
  static let parameterCountMax = 256

  package struct Parameter: Sendable, Hashable {
    package var name: String
    package var value: String
  }
  package private(set) var parameters: [Parameter] = []

  init() {}

  /// Parses a query. Throws INVALID_ARGUMENT `PATH_INVALID` for invalid encoding and `QUERY_INVALID` for too many
  /// parameters.
  package init(_ text: Substring) throws(RPCError) {
    for part in text.split(separator: "&") {
      guard parameters.count < Self.parameterCountMax else {
        throw RPCError(
          .invalidArgument, "the query has more than \(Self.parameterCountMax) parameters", reason: "QUERY_INVALID",
          processed: false)
      }
      let equals = part.firstIndex(of: "=") ?? part.endIndex
      let value = equals == part.endIndex ? "" : part[part.index(after: equals)...]
      parameters.append(
        Parameter(
          name: try RequestPath.decoded(part[..<equals], plusIsSpace: true),
          value: try RequestPath.decoded(value, plusIsSpace: true)))
    }
  }

  /// Returns the last value of a parameter.
  package subscript(_ name: String) -> String? { parameters.last { $0.name == name }?.value }
}
