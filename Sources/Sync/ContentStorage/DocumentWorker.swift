import CampanileBase
import CampanileCrypto
import CampanileRPC
import NIOPosix
import SyncContents

/// Runs work on whole documents, which takes memory and time: a few at a time, on dedicated threads. Further work
/// waits.
final class DocumentWorker: Sendable {
  private let threads: NIOThreadPool

  init(atOnceMax: Int) {
    threads = NIOThreadPool(numberOfThreads: max(1, atOnceMax))
    threads.start()
  }

  func close() async { try? await threads.shutdownGracefully() }

  func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await threads.runIfActive(body)
  }
}

/// A document in memory or on disk. A stored one is loaded only by work that runs on `DocumentWorker`.
enum DocumentSource: Sendable {
  case memory([UInt8])
  case stored(SHA256Digest, sizeBytes: Int64)

  /// Throws FAILED_PRECONDITION if the version is a deletion.
  init(_ version: StoredVersion) throws(RPCError) {
    self = .stored(try AssetsService.digest(of: version), sizeBytes: version.sizeBytes)
  }

  /// Returns the document's bytes. Blocks.
  func load(_ contents: any ContentStore) throws -> [UInt8] {
    switch self {
    case .memory(let bytes): bytes
    case .stored(let digest, let sizeBytes): try contents.open(digest, sizeBytes: sizeBytes).all()
    }
  }
}
