import CampanileCrypto
import CampanileRPC
import NIOPosix

/// Runs work on whole documents, which takes memory and time: few at once, on threads of their own. More wait.
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

/// A document where it is: those on the disk are read by whoever has a place to work on them.
enum DocumentSource: Sendable {
  case memory([UInt8])
  case stored(SHA256Digest, sizeBytes: Int64)

  /// Throws FAILED_PRECONDITION for a deletion.
  init(_ version: StoredVersion) throws(RPCError) {
    self = .stored(try AssetsService.digest(of: version), sizeBytes: version.sizeBytes)
  }

  /// Blocks.
  func load(_ contents: ContentStore) throws -> [UInt8] {
    switch self {
    case .memory(let bytes): bytes
    case .stored(let digest, let sizeBytes): try contents.open(digest, sizeBytes: sizeBytes).all()
    }
  }
}
