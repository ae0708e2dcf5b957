import CampanileRPC
import Foundation
import Logging

/// The file through which the operator gets a first key: whoever starts the suite reads it there.
///
/// A file that exists must be private (mode 0600) and hold a secret; the key that belongs to it is made where the database has
/// none. A missing file is made with a new key, and so is one whose key was revoked or has expired.
struct BootstrapKey {
  static let principal = Principal(kind: .service, id: "admin")
  let path: String

  /// Throws FAILED_PRECONDITION `BOOTSTRAP_KEY_FILE` when the file cannot be used, with what to do about it.
  func ensure(in keys: KeyStore, logger: Logger) async throws {
    if let secret = try read() {
      switch keys.ring.authenticate(secret.text) {
      case .success(let entry) where entry.rights.isAdmin: return
      case .success: throw failed("holds a key without the scope admin; remove the file to get a new key")
      case .failure(let error) where error.reason == CredentialFault.invalid.reason:
        _ = try await create(in: keys, secret)
        return logger.notice("the admin key of the file was added", metadata: ["file": "\(path)"])
      case .failure(let error):
        logger.warning(
          "the admin key of the file is replaced", metadata: ["file": "\(path)", "reason": "\(error.reason)"])
      }
    }
    let secret = try ApiKeySecret.random()
    // The file first: a key without a file would be of no use to anyone, a file without a key is completed at the next start.
    try write(secret)
    let key = try await create(in: keys, secret)
    logger.notice("an admin key was made", metadata: ["file": "\(path)", "key": "\(key.id)"])
  }

  private func create(in keys: KeyStore, _ secret: ApiKeySecret) async throws -> StoredApiKey {
    try await keys.create(
      principal: Self.principal, scopes: [Scope("admin")].compactMap { $0 }, description: "bootstrap", expiresAtMs: nil,
      secret: secret
    ).key
  }

  private func failed(_ why: String) -> RPCError {
    RPCError(.failedPrecondition, "the file \(path) \(why)", reason: "BOOTSTRAP_KEY_FILE")
  }

  /// The secret in the file; `nil` when there is no file.
  private func read() throws -> ApiKeySecret? {
    // The mode is read from the open descriptor, so that the file checked is the file read.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    if descriptor < 0, errno == ENOENT { return nil }
    guard descriptor >= 0 else { throw failed("cannot be read: \(String(cString: strerror(errno)))") }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw failed("is no regular file")
    }
    guard status.st_mode & 0o077 == 0 else { throw failed("can be read by others; run: chmod 600 '\(path)'") }
    let bytes = try file.read(upToCount: 1024) ?? Data()
    let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    guard let secret = ApiKeySecret(text) else { throw failed("holds no API key; remove it to get a new one") }
    return secret
  }

  /// Replaces the file as a whole, so that no reader sees half a secret.
  private func write(_ secret: ApiKeySecret) throws {
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
