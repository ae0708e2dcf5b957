import CampanileCrypto
import NIOPosix
import SyncContents

/// The contents, each once under its SHA-256, and unfinished files under names that contain `_`.
///
/// A content has a row in the database, written by the commit that first references it. A content without a row, or
/// with an unreferenced one, is deleted after a grace time. All functions except `keep` block.
protocol ContentStore: Sendable {
  /// Threads that read, write and check contents, because event loops must not block on the disk.
  var threads: NIOThreadPool { get }
  /// Whether to compress contents.
  var packs: Bool { get }

  /// Whether several processes may write uploads. Each must take an upload before it writes.
  var isShared: Bool { get }

  /// Creates an unfinished file.
  func create(_ name: String) throws -> any ContentFile
  /// Creates the file of an upload that this process has taken, without the bytes received so far.
  func create(_ upload: StoredUpload) throws -> any ContentFile
  /// Opens the file of an upload to continue it; nil if it does not exist.
  ///
  /// - Parameter isWritable: False to read what another process has written. All changes are then discarded.
  func open(_ upload: StoredUpload, isWritable: Bool) throws -> (any ContentFile)?
  /// Deletes an unfinished file, unless another process may be writing it. A missing one is not an error.
  func discard(_ name: String)

  /// Stores a content from memory, as far as it can be before its commit. `keep` or `drop` must follow.
  func put(_ content: [UInt8], name: String, check: ContentCheck) throws -> ContentSummary
  /// Takes over the finished file of an upload like `put`.
  func adopt(_ name: String, _ summary: ContentSummary) throws -> ContentSummary
  /// Ends the storing of contents whose commit has referenced them. Does not block.
  func keep(_ summaries: [ContentSummary])
  /// Deletes contents whose commit failed, unless something else references them.
  func drop(_ summaries: [ContentSummary])
  /// Opens a content. Throws DATA_LOSS if its file is missing or belongs to another content.
  func open(_ digest: SHA256Digest, sizeBytes: Int64) throws -> ContentReader

  /// Deletes contents whose rows a purge has deleted.
  func remove(_ digests: [SHA256Digest])
  /// Deletes a part of the files that neither a commit nor an upload has used since a time.
  ///
  /// - Parameter part: 256 successive numbers cover all files.
  /// - Returns: The number of deleted files.
  func purgeOrphans(part: Int, beforeMs: Int64) throws -> Int
  /// Completes what an earlier process has left. Call before serving.
  func prepare() async throws
  /// Syncs the files of small contents referenced since the last call. Call a few times a second.
  func settle() async throws
}

extension ContentStore {
  /// Returns started threads for a store.
  static func makeThreads() -> NIOThreadPool {
    let threads = NIOThreadPool(numberOfThreads: 4)
    threads.start()
    return threads
  }

  func close() async { try? await threads.shutdownGracefully() }

  /// Runs blocking work on the store's threads.
  func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await threads.runIfActive(body)
  }

  /// Writes a content from memory into a new file.
  func write(_ content: [UInt8], name: String, check: ContentCheck) throws -> ContentSummary {
    do {
      var writer = try ContentWriter.begin(try create(name), packs: packs, check: check)
      try content.withUnsafeBytes { try writer.append($0) }
      return try writer.finish()
    } catch {
      discard(name)
      throw error
    }
  }
}
