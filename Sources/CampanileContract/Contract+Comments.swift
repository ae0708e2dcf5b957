/// Facts that the comments of the protos state in fixed words.
extension Contract.Message {
  /// The proto names of the fields that only the server sets: `Set by the server`, or `Set by the server, like all
  /// fields below`.
  package var serverFields: Set<String> {
    var names: Set<String> = []
    var isBelow = false
    for field in fields {
      let text = field.documentation.text
      if isBelow || text.contains("Set by the server") || text.contains("; set by the server") {
        names.insert(field.name)
      }
      isBelow = isBelow || text.contains("Set by the server, like all fields below")
    }
    return names
  }
}

extension Contract.Field {
  /// The number in `0 means 50`; nil if the comment states none.
  package var defaultNumber: Int64? {
    guard let found = documentation.text.firstRange(of: "0 means "),
      documentation.text[..<found.lowerBound].last?.isNumber != true
    else { return nil }
    let rest = documentation.text[found.upperBound...]
    let digits = rest.prefix { ("0"..."9").contains($0) }
    guard [";", ".", ","].contains(rest.dropFirst(digits.count).first) else { return nil }
    return Int64(digits)
  }

  /// The words in backquotes, such as the paths that a mask accepts.
  package var quotedWords: [String] {
    documentation.text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
      .filter { $0.offset % 2 == 1 }.map { String($0.element) }
  }

  /// The proto names of the members that the request must not set: ``leave `bucket_id` empty``.
  package var emptyMembers: [String] {
    documentation.text.split(separator: "eave `").dropFirst().compactMap { rest in
      rest.firstRange(of: "` empty").map { String(rest[..<$0.lowerBound]) }.flatMap { $0.contains("`") ? nil : $0 }
    }
  }
}
