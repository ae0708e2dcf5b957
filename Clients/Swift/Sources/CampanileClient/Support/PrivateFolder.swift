package import CampanileBase
package import Foundation

/// Small files of one folder, which several processes may share: each is replaced atomically.
package struct PrivateFolder: Sendable {
  package let url: URL
  private static let sizeBytesMax = 512 * 1024 * 1024

  package init(_ url: URL) { self.url = url }

  package func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  /// Returns the bytes of a file; `nil` if there is none.
  package func read(_ name: String) throws(RPCError) -> [UInt8]? {
    do throws(PrivateFile.Failure) {
      return try PrivateFile.read(path(name), sizeBytesMax: Self.sizeBytesMax, isPrivate: true)
    } catch {
      if case .system(.open, ENOENT) = error.cause { return nil }
      throw Self.failure("cannot read \(path(name)): \(error)")
    }
  }

  /// Replaces a file. Creates the folder if necessary.
  package func write(_ bytes: [UInt8], to name: String) throws(RPCError) {
    do {
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
      try PrivateFile.write(bytes, to: path(name))
    } catch {
      throw Self.failure("cannot write \(path(name)): \(error)")
    }
  }

  /// Removes a file, if there is one.
  package func remove(_ name: String) throws(RPCError) {
    guard unlink(path(name)) == 0 || errno == ENOENT else { throw FileFailure.system("cannot remove \(path(name))") }
  }

  /// Waits for the lock of the folder.
  package func lock() throws(RPCError) -> FileLock {
    try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    return try FileLock.wait(path(".lock"))
  }

  private static func failure(_ what: String) -> RPCError {
    RPCError(.unavailable, what, reason: FileFailure.reason, processed: false)
  }
}
