import CampanileAPI
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import SyncContents

/// Sends a content in chunks. Each is read and verified while the previous one is sent. Holds two blocks at most,
/// and on a server one chunk of 1 MiB.
struct Download: Sendable {
  let contents: any ContentStore
  let asset: Asset
  let digest: SHA256Digest
  /// Whether to compress chunks with gzip if that makes them smaller.
  let packs: Bool

  private struct Piece: Sendable {
    var chunk: DownloadAssetResponse
    var next: ContentReader.Position
  }

  func run(from offset: Int64, send: (DownloadAssetResponse) async throws -> Void) async throws {
    let (contents, digest, sizeBytes) = (contents, digest, asset.sizeBytes)
    let reader = try await contents.run { try contents.open(digest, sizeBytes: sizeBytes) }
    guard offset < sizeBytes else {
      return try await send(
        .with {
          $0.asset = asset
          $0.offset = offset
          $0.encoding = .identity
        })
    }
    let start = try await contents.run { try reader.position(of: offset) }
    var piece = try await self.piece(reader, start, from: offset)
    piece.chunk.asset = asset
    while piece.next.place < sizeBytes {
      let next = piece.next
      async let following = self.piece(reader, next, from: next.place)
      try await send(piece.chunk)
      piece = try await following
    }
    try await send(piece.chunk)
  }

  private func piece(
    _ reader: ContentReader, _ position: ContentReader.Position, from offset: Int64
  ) async throws -> Piece {
    let packs = packs
    return try await contents.run {
      let (block, next) = try reader.block(position)
      let skipped = Int(offset - position.place)
      let data = skipped == 0 ? block : Array(block.dropFirst(skipped))
      var chunk = DownloadAssetResponse(offset: offset)
      if packs, let packed = data.withUnsafeBytes({ Deflate.pack($0, .gzip) }) {
        chunk.data = packed
        chunk.encoding = .gzip
      } else {
        chunk.data = data
        chunk.encoding = .identity
      }
      return Piece(chunk: chunk, next: next)
    }
  }
}
