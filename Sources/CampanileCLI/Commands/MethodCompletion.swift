internal import ArgumentParser

/// Shell completion of method names, from the methods of a reachable server.
enum MethodCompletion {
  static let kind = CompletionKind.custom { words, _, prefix in await candidates(words, prefix: prefix) }

  /// Returns the shortest unique names and the full paths that begin with `prefix`; none if no server responds.
  static func candidates(_ words: [String], prefix: String) async -> [String] {
    // The words typed so far select the server. If they cannot be parsed yet, the default options apply.
    let options = (try? ConnectionOptions.parse(connectionWords(words))) ?? ConnectionOptions()
    guard let service = try? options.connect(), let methods = try? await service.methods(timeoutMs: 1_000)
    else { return [] }
    return names(of: methods).filter { $0.hasPrefix(prefix) }
  }

  /// Returns unique method names, `Service/Method` for ambiguous ones, and every full path.
  static func names(of methods: [KnownMethod]) -> [String] {
    let counts = methods.reduce(into: [String: Int]()) { $0[$1.name, default: 0] += 1 }
    let short = methods.map { method in
      counts[method.name] == 1
        ? method.name : "\(method.service.split(separator: ".").last ?? "")/\(method.name)"
    }
    return short.sorted() + methods.map(\.path).sorted()
  }

  /// Returns the options that select a server, with their values.
  static func connectionWords(_ words: [String]) -> [String] {
    let names = [
      "--address", "--target", "--data-dir", "--key", "--key-file", "--internal-token-file", "--as",
      "--tls-trust", "--tls-server-name",
    ]
    var result: [String] = []
    for (index, word) in words.enumerated() {
      if names.contains(word), index + 1 < words.count {
        result += [word, words[index + 1]]
      } else if names.contains(where: { word.hasPrefix($0 + "=") }) {
        result.append(word)
      }
    }
    return result
  }
}
