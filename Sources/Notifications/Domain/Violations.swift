import CampanileRPC

/// Gathers what is wrong with a request, so that one answer names every field at fault.
struct Violations {
  private(set) var list: [RPCError.FieldViolation] = []

  mutating func add(_ field: String, _ description: String, _ reason: String) {
    list.append(RPCError.FieldViolation(field: field, description: description, reason: reason))
  }

  /// Checks the length of a text in characters.
  mutating func characters(_ text: String, _ range: ClosedRange<Int>, _ field: String) {
    // Counting bytes first spares the count of characters, which is slower, in nearly every case.
    let utf8Count = text.utf8.count
    if utf8Count >= range.lowerBound, utf8Count <= range.upperBound, range.lowerBound <= 1 { return }
    let count = text.count
    if count < range.lowerBound {
      add(field, range.lowerBound == 1 ? "must not be empty" : "needs \(range.lowerBound) characters", "TOO_SHORT")
    } else if count > range.upperBound || utf8Count > range.upperBound * 32 {
      add(field, "has \(count) characters; at most \(range.upperBound) are allowed", "TOO_LONG")
    }
  }

  mutating func webURL(_ url: String, _ field: String) {
    guard url.count <= NotificationsLimits.urlCharactersMax else {
      return add(field, "is longer than \(NotificationsLimits.urlCharactersMax) characters", "TOO_LONG")
    }
    if !Self.isWebURL(url) { add(field, "must be an absolute http or https URL", "URL_INVALID") }
  }

  /// Whether it is `http(s)://` with a host and without spaces and control characters.
  static func isWebURL(_ url: String) -> Bool {
    let lower = url.prefix(8).lowercased()
    guard let scheme = ["https://", "http://"].first(where: lower.hasPrefix) else { return false }
    let rest = url.utf8.dropFirst(scheme.utf8.count)
    guard let first = rest.first, first != UInt8(ascii: "/"), first != UInt8(ascii: "?"), first != UInt8(ascii: "#")
    else { return false }
    return rest.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "<") }
  }

  /// One INVALID_ARGUMENT that names every violation.
  var error: RPCError? {
    guard let first = list.first else { return nil }
    let more = list.count == 1 ? "" : " (and \(list.count - 1) more)"
    return RPCError(
      .invalidArgument, "\(first.field): \(first.description)\(more)", reason: first.reason, fieldViolations: list)
  }

  func check() throws(RPCError) { if let error { throw error } }
}
