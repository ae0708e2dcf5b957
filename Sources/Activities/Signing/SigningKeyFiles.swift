import APNs
import CampanileAPI
import CampanileCodec
import CampanileCrypto
import Foundation

/// A directory of signing keys, stored as Apple distributes them: `AuthKey_<key id>.p8`.
///
/// An optional file `AuthKey_<key id>.json` next to a key contains a `SigningKey` with its team, apps and environments.
struct SigningKeyFiles: Sendable {
  static let filesMax = SigningKeys.countMax
  static let prefix = "AuthKey_"

  let directory: String
  /// Team id for keys without a description file.
  let teamID: String?

  /// The usable keys, and the problems found: one line each, naming the file.
  struct Contents: Sendable {
    var entries: [SigningKeys.Entry] = []
    var problems: [String] = []
  }

  /// Reads all keys. An unusable key is reported as a problem and does not affect the others.
  func read() -> Contents {
    var contents = Contents()
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".p8") }.sorted()
    } catch {
      contents.problems.append("\(directory): cannot be read: \(error.localizedDescription)")
      return contents
    }
    if names.count > Self.filesMax { contents.problems.append("\(directory): has more than \(Self.filesMax) keys") }
    for name in names.prefix(Self.filesMax) {
      switch entry(name) {
      case .success(let entry): contents.entries.append(entry)
      case .failure(let problem): contents.problems.append(problem.text)
      }
    }
    return contents
  }

  /// Writes both files of a key with mode 0600, each atomically.
  func write(_ description: SigningKey, pem: [UInt8]) throws {
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let base = "\(directory)/\(Self.prefix)\(description.keyId)"
    try Self.writeWhole(description.jsonUTF8Bytes(), "\(base).json")
    try Self.writeWhole(pem, "\(base).p8")
  }

  /// Removes a key's files if they exist.
  func remove(_ keyID: String) {
    guard ProviderTokenRules.isIdentifier(keyID) else { return }
    for suffix in ["p8", "json"] {
      try? FileManager.default.removeItem(atPath: "\(directory)/\(Self.prefix)\(keyID).\(suffix)")
    }
  }

  private struct Problem: Error { var text: String }

  private func entry(_ name: String) -> Result<SigningKeys.Entry, Problem> {
    let path = "\(directory)/\(name)"
    do {
      let key = try ES256PrivateKey(path: path)
      let description = try description(path: path, name: name)
      return .success(SigningKeys.Entry(description: description, key: key))
    } catch let error as CryptoError {
      return .failure(Problem(text: error.message))
    } catch let error as Problem {
      return .failure(error)
    } catch {
      return .failure(Problem(text: "\(path): cannot be used"))
    }
  }

  private func description(path: String, name: String) throws -> SigningKey {
    let stem = String(name.dropLast(3))
    let jsonPath = String(path.dropLast(3)) + ".json"
    var description = SigningKey()
    if FileManager.default.fileExists(atPath: jsonPath) {
      guard let bytes = FileManager.default.contents(atPath: jsonPath), bytes.count <= 65_536 else {
        throw Problem(text: "\(jsonPath): cannot be read")
      }
      do throws(ProtoJSONError) {
        description = try SigningKey(jsonUTF8: [UInt8](bytes))
      } catch {
        throw Problem(text: "\(jsonPath): \(error.message)")
      }
    }
    if description.keyId.isEmpty, stem.hasPrefix(Self.prefix) {
      description.keyId = String(stem.dropFirst(Self.prefix.count))
    }
    if description.teamId.isEmpty { description.teamId = teamID ?? "" }
    description.tokenTime = nil
    guard ProviderTokenRules.isIdentifier(description.keyId) else {
      throw Problem(text: "\(path): needs a key id: name the file AuthKey_<key id>.p8, or set keyId in \(jsonPath)")
    }
    guard ProviderTokenRules.isIdentifier(description.teamId) else {
      throw Problem(text: "\(path): needs a team id: set teamId in \(jsonPath), or set the default team")
    }
    return description
  }

  private static func writeWhole(_ bytes: [UInt8], _ path: String) throws {
    let temporary = "\(path).new"
    try? FileManager.default.removeItem(atPath: temporary)
    guard
      FileManager.default.createFile(
        atPath: temporary, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
    else { throw CryptoError(.keyUnreadable, "\(temporary): cannot be written") }
    let handle = try FileHandle(forUpdating: URL(filePath: temporary))
    try handle.synchronize()
    try handle.close()
    guard rename(temporary, path) == 0 else {
      throw CryptoError(.keyUnreadable, "\(path): cannot be renamed into place")
    }
  }
}
