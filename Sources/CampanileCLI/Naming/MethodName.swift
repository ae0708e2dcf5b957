/// One method that a server offers.
public struct KnownMethod: Sendable, Hashable {
  /// The full name of the service, for example `campanile.notifications.v1.NotificationsService`.
  public var service: String
  /// The name inside the service, for example `GetNotification`.
  public var name: String
  public var clientStreaming: Bool
  public var serverStreaming: Bool
  /// Whether a repeat does no harm: `NO_SIDE_EFFECTS` or `IDEMPOTENT`.
  public var allowsRepeat: Bool

  public init(
    service: String, name: String, clientStreaming: Bool = false, serverStreaming: Bool = false,
    allowsRepeat: Bool = false
  ) {
    self.service = service
    self.name = name
    self.clientStreaming = clientStreaming
    self.serverStreaming = serverStreaming
    self.allowsRepeat = allowsRepeat
  }

  /// `service/name`, as it stands on the wire.
  public var path: String { "\(service)/\(name)" }

  /// In words, for lists.
  public var shape: String {
    switch (clientStreaming, serverStreaming) {
    case (false, false): "unary"
    case (true, false): "client streaming"
    case (false, true): "server streaming"
    case (true, true): "bidirectional"
    }
  }
}

/// Why a name stands for no single thing.
public struct NameError: Error, Sendable, Hashable, CustomStringConvertible {
  public var description: String
  /// Full names that may have been meant, at most 5.
  public var candidates: [String]
}

/// Finds what an abbreviated name stands for.
public enum NameResolver {
  /// The method that `text` names.
  ///
  /// `text` is a full path, or its end at a border between parts (`NotificationsService/GetNotification`,
  /// `GetNotification`, with `.` or `/` before the method), in any case of letters. An exact match goes before one that only
  /// differs in case.
  ///
  /// - Throws: `NameError` when several methods match or none does; it names what may have been meant.
  public static func method(_ text: String, among methods: [KnownMethod]) throws(NameError) -> KnownMethod {
    let path = try resolve(text, among: methods.map(\.path), noun: "method")
    guard let method = methods.first(where: { $0.path == path }) else {
      throw NameError(description: "no method \(text)", candidates: [])
    }
    return method
  }

  /// The one of `names` that `text` abbreviates; as `method(_:among:)`.
  public static func resolve(_ text: String, among names: [String], noun: String) throws(NameError) -> String {
    let wanted = parts(text)
    guard !wanted.isEmpty else { throw NameError(description: "an empty \(noun) name", candidates: []) }
    if names.contains(text) { return text }
    for isSame in [{ $0 == $1 }, { $0.lowercased() == $1.lowercased() }] as [(String, String) -> Bool] {
      let matches = names.filter { name in
        let own = parts(name).suffix(wanted.count)
        return own.count == wanted.count && zip(own, wanted).allSatisfy(isSame)
      }
      if let match = matches.first, matches.count == 1 { return match }
      if matches.count > 1 {
        let candidates = Array(matches.sorted().prefix(5))
        throw NameError(
          description: "\(quoted(text)) is ambiguous: \(candidates.joined(separator: ", "))", candidates: candidates)
      }
    }
    let near = suggestions(for: text, among: names)
    let hint = near.isEmpty ? "" : ", did you mean \(near.joined(separator: " or "))?"
    throw NameError(description: "no \(noun) \(quoted(text))\(hint)", candidates: near)
  }

  /// At most 3 names whose end is within a third of the text's length in edits, nearest first.
  public static func suggestions(for text: String, among names: [String]) -> [String] {
    let wanted = parts(text)
    guard !wanted.isEmpty, text.utf8.count <= 256 else { return [] }
    let word = wanted.joined(separator: ".").lowercased()
    let limit = max(2, (wanted.last ?? "").count / 3)
    return names.map { name in
      (EditDistance.between(word, parts(name).suffix(wanted.count).joined(separator: ".").lowercased()), name)
    }
    .filter { $0.0 <= limit }.sorted { $0 < $1 }.prefix(3).map(\.1)
  }

  private static func parts(_ name: String) -> [String] {
    name.split(whereSeparator: { $0 == "." || $0 == "/" }).map(String.init)
  }

  private static func quoted(_ text: String) -> String { "\"\(Terminal.printable(text.prefix(128)))\"" }
}

/// Levenshtein's distance, where two swapped neighbours count as one edit.
enum EditDistance {
  static func between(_ left: String, _ right: String) -> Int {
    let left = Array(left.unicodeScalars)
    let right = Array(right.unicodeScalars)
    var beforeLast = [Int](repeating: 0, count: right.count + 1)
    var last = Array(0...right.count)
    for row in left.indices {
      var current = [row + 1]
      current.reserveCapacity(right.count + 1)
      for column in right.indices {
        let isSame = left[row] == right[column]
        var best = min(last[column + 1] + 1, current[column] + 1, last[column] + (isSame ? 0 : 1))
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          best = min(best, beforeLast[column - 1] + 1)
        }
        current.append(best)
      }
      beforeLast = last
      last = current
    }
    return last[right.count]
  }
}
