internal import ArgumentParser

/// Completes names from what a reachable server offers.
enum MethodCompletion {
  static let kind = CompletionKind.custom { words, _, prefix in await candidates(words, prefix: prefix) }

  /// The shortest unique name of each method, and full ones once the prefix has a dot. Nothing when no server answers.
  static func candidates(_ words: [String], prefix: String) async -> [String] {
    // The words as typed so far say which server; what does not parse yet is left out.
    let options = (try? ConnectionOptions.parse(connectionWords(words))) ?? ConnectionOptions()
    guard let service = try? options.connect(), let methods = try? await service.methods(timeoutMs: 1_000)
    else { return [] }
    return names(of: methods).filter { $0.hasPrefix(prefix) }
  }

  /// Method names where they are unique, `Service/Method` where not, and every full path.
  static func names(of methods: [KnownMethod]) -> [String] {
    let counts = methods.reduce(into: [String: Int]()) { $0[$1.name, default: 0] += 1 }
    let short = methods.map { method in
      counts[method.name] == 1
        ? method.name : "\(method.service.split(separator: ".").last ?? "")/\(method.name)"
    }
    return short.sorted() + methods.map(\.path).sorted()
  }

  /// The words that say which server is meant, with their values.
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
