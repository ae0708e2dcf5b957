import CampanileBase
import CampanileRPC
import Foundation
import Logging

/// The file from which the operator reads the first admin key.
///
/// An existing file must be private (mode 0600) and hold a secret. If the database has no key with this secret, one is
/// created. A missing file is written with a new key, and so is one whose key was revoked or has expired.
struct BootstrapKey {
  static let principal = Principal(kind: .service, id: "admin")
  let path: String

  /// Ensures that the file holds a valid admin key.
  ///
  /// - Throws: FAILED_PRECONDITION `BOOTSTRAP_KEY_FILE` with the remedy if the file cannot be used.
  func ensure(in keys: KeyStore, logger: Logger) async throws {
    if let secret = try read() {
      switch keys.ring.authenticate(secret.text) {
      case .success(let entry) where entry.rights.isAdmin: return
      case .success: throw failed("holds a key without the scope admin; remove the file to get a new key")
      case .failure(let error) where error.reason == CredentialFault.invalid.reason:
        _ = try await create(in: keys, secret)
        return logger.notice("added the admin key of the file", metadata: ["file": "\(path)"])
      case .failure(let error):
        logger.warning(
          "replacing the admin key of the file", metadata: ["file": "\(path)", "reason": "\(error.reason)"])
      }
    }
    let secret = try CallerSecret.random(.key)
    // Write the file first: the next start adds a missing key, but a key without its file would be useless.
    try write(secret)
    let key = try await create(in: keys, secret)
    logger.notice("created an admin key", metadata: ["file": "\(path)", "key": "\(key.id)"])
  }

  private func create(in keys: KeyStore, _ secret: CallerSecret) async throws -> StoredApiKey {
    try await keys.create(
      principal: Self.principal, scopes: [Scope("admin")].compactMap { $0 }, description: "bootstrap", expiresAtMs: nil,
      secret: secret
    ).key
  }

  private func failed(_ why: String) -> RPCError {
    RPCError(.failedPrecondition, "the file \(path) \(why)", reason: "BOOTSTRAP_KEY_FILE")
  }

  /// Returns the secret in the file; `nil` if there is no file.
  private func read() throws -> CallerSecret? {
    // Read the mode from the open descriptor, so that the checked file is the one that is read.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    if descriptor < 0, errno == ENOENT { return nil }
    guard descriptor >= 0 else { throw failed("cannot be read: \(String(cString: strerror(errno)))") }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw failed("is not a regular file")
    }
    guard status.st_mode & 0o077 == 0 else { throw failed("can be read by others; run: chmod 600 '\(path)'") }
    let bytes = try file.read(upToCount: 1024) ?? Data()
    let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    guard let secret = CallerSecret(text, .key) else { throw failed("holds no API key; remove it to get a new one") }
    return secret
  }

  /// Replaces the file atomically, so that no reader sees a partial secret.
  private func write(_ secret: CallerSecret) throws {
    let temporary = "\(path).\(ProcessInfo.processInfo.processIdentifier).tmp"
    unlink(temporary)
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failed("cannot be written: \(String(cString: strerror(errno)))") }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do {
      try file.write(contentsOf: Data((secret.text + "\n").utf8))
      try file.synchronize()
    } catch {
      unlink(temporary)
      throw failed("cannot be written: \(error)")
    }
    guard rename(temporary, path) == 0 else {
      let why = String(cString: strerror(errno))
      unlink(temporary)
      throw failed("cannot be written: \(why)")
    }
  }
}
