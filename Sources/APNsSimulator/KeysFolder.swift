#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A folder of public keys that verify provider tokens, one JSON file each.
enum KeysFolder {
  static let fileBytesMax = 64 * 1024

  /// Reads the keys of the files `*.json` in `folder`; returns none if it is nil. Throws a `KeysFolderError` that names
  /// the file.
  static func read(_ folder: String?) throws(KeysFolderError) -> [SigningKey] {
    guard let folder else { return [] }
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
      throw KeysFolderError("cannot read the folder \(folder)")
    }
    var keys: [SigningKey] = []
    for name in names.sorted() where name.hasSuffix(".json") {
      let path = "\(folder)/\(name)"
      guard let data = FileManager.default.contents(atPath: path), data.count <= fileBytesMax else {
        throw KeysFolderError("cannot read \(path), or it has more than \(fileBytesMax) bytes")
      }
      do throws(ControlError) {
        keys.append(try ControlRequest.signingKey(Array(data)))
      } catch {
        throw KeysFolderError("\(path): \(error.message)")
      }
    }
    return keys
  }
}

struct KeysFolderError: Error, Sendable, Hashable, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}
