import CampanileCrypto

/// The files of the web console, and those of the client that its modules import.
///
/// The page itself is at `PATH/` and is revalidated on every visit. All other files are at
/// `PATH/HASH/web/` and `PATH/HASH/sdk/`, where the hash covers all of them, and are cached for ever. Relative imports
/// between the modules are the same as in the sources.
enum ConsoleFiles {
  static let pageName = "index.html"
  private static let immutable = "public, max-age=31536000, immutable"

  /// Returns all files, by path.
  static func files(at path: String) -> [String: StaticFile] {
    let web = EmbeddedFile.console
    let client = EmbeddedFile.client.filter { !$0.path.hasSuffix(".d.ts") }
    let hash = hash(web + client)
    var files: [String: StaticFile] = [:]
    func add(_ source: EmbeddedFile, _ folder: String) {
      files["\(path)/\(hash)/\(folder)/\(source.path)"] = StaticFile(
        contentType: source.contentType, cacheControl: immutable
      ) { source.bytes }
    }
    for source in client { add(source, "sdk") }
    for source in web {
      guard source.path == pageName else {
        add(source, "web")
        continue
      }
      files[path + "/"] = StaticFile(contentType: source.contentType, cacheControl: "no-cache") {
        Array(page(String(decoding: source.bytes, as: UTF8.self), folder: "\(hash)/web/").utf8)
      }
    }
    return files
  }

  /// Returns the page with its relative links to scripts and styles in a folder.
  static func page(_ text: String, folder: String) -> String {
    text.replacing(/\b(?<name>href|src)="(?<link>[^"\/:#][^":]*)"/) { match in
      "\(match.output.name)=\"\(resolved(String(match.output.link), in: folder))\""
    }
  }

  /// Returns a link without `.` and `..`, so that browsers request the same URL as for an import.
  private static func resolved(_ link: String, in folder: String) -> String {
    var parts: [Substring] = []
    for part in (folder + link).split(separator: "/") {
      if part == "." { continue }
      if part == "..", !parts.isEmpty { parts.removeLast() } else { parts.append(part) }
    }
    return parts.joined(separator: "/")
  }

  private static func hash(_ sources: [EmbeddedFile]) -> String {
    var bytes: [UInt8] = []
    for source in sources {
      bytes += Array("\(source.path) \(source.bytes.count)\n".utf8)
      bytes += source.bytes
    }
    return String(((try? SHA256.digest(bytes))?.hexadecimal ?? "\(bytes.count)").prefix(16))
  }
}
