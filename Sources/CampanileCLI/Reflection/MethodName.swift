/// A method of a server.
public struct KnownMethod: Sendable, Hashable {
  /// The full name of the service, for example `campanile.notifications.v1.NotificationsService`.
  public var service: String
  /// The name within the service, for example `GetNotification`.
  public var name: String
  public var clientStreaming: Bool
  public var serverStreaming: Bool
  /// Whether the method is safe to repeat: its level is `NO_SIDE_EFFECTS` or `IDEMPOTENT`.
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

  /// The method's name on the wire, `service/name`.
  public var path: String { "\(service)/\(name)" }

  /// The streaming shape in words, for lists.
  public var shape: String {
    switch (clientStreaming, serverStreaming) {
    case (false, false): "unary"
    case (true, false): "client streaming"
    case (false, true): "server streaming"
    case (true, true): "bidirectional"
    }
  }
}

/// An error for a name that is unknown or ambiguous.
public struct NameError: Error, Sendable, Hashable, CustomStringConvertible {
  public var description: String
  /// Full names that may have been meant, at most 5.
  public var candidates: [String]
}

/// Resolves abbreviated names.
public enum NameResolver {
  /// Resolves the name of a method.
  ///
  /// The comparison ignores case unless there is an exact match.
  ///
  /// - Parameter text: A full path or its last parts, such as `NotificationsService/GetNotification` or
  ///   `GetNotification`. The method may follow `.` or `/`.
  /// - Throws: `NameError` with candidates if no method or several methods match.
  public static func method(_ text: String, among methods: [KnownMethod]) throws(NameError) -> KnownMethod {
    let path = try resolve(text, among: methods.map(\.path), noun: "method")
    guard let method = methods.first(where: { $0.path == path }) else {
      throw NameError(description: "no method \(text)", candidates: [])
    }
    return method
  }

  /// Resolves an abbreviation of one of `names`, with the rules of `method(_:among:)`.
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

  /// Returns at most 3 similar names, nearest first.
  ///
  /// Compares the last parts of names, up to an edit distance of a third of the last part's length, but at least 2.
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

/// The optimal string alignment distance: Levenshtein's, with a swap of two neighbours as one edit.
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
