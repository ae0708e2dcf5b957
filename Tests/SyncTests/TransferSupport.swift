import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import SyncContents
import Testing

@testable import Sync

/// Returns a JSON array of about `count` bytes, the same for the same seed.
func document(bytes count: Int, seed: UInt64 = 1) -> [UInt8] {
  var state = seed
  var text = "["
  text.reserveCapacity(count + 64)
  while text.utf8.count < count {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    if text.utf8.count > 1 { text += "," }
    text += "{\"id\":\"n_\(state >> 20)\",\"n\":\(state >> 40)}"
  }
  return Array((text + "]").utf8)
}

extension SyncComponent {
  func createUpload(
    _ content: [UInt8], type: String = "Note", size: Int64? = nil, hash declared: String? = nil,
    _ context: CallContext = anna, device: String = "phone"
  ) async throws -> Upload {
    let digest = try declared ?? hash(content)
    return try #require(
      try await uploads.createUpload(
        .init(deviceId: device, recordType: type, sizeBytes: size ?? Int64(content.count), sha256: digest),
        context: context
      ).upload)
  }

  /// Begins a stream of an upload; nil if the upload is complete.
  func beginUpload(_ id: String, offset: Int64 = 0) async throws -> UploadRun? {
    let start = UploadContentRequest.UploadStart(uploadId: id, offset: offset)
    return try await UploadRun.begin(
      start, user: "anna", repository: repository, contents: contents, uploadTable: uploads.uploadTable)
  }

  /// Sends a part of a content in chunks of 100,000 bytes on one stream.
  func send(
    _ id: String, _ content: some Collection<UInt8>, offset: Int64 = 0, packs: Bool = false
  ) async throws {
    guard let run = try await beginUpload(id, offset: offset) else { return }
    do {
      var rest = content[...]
      while !rest.isEmpty {
        let piece = Array(rest.prefix(100_000))
        var chunk = UploadContentRequest.UploadChunk(data: piece)
        if packs, let packed = piece.withUnsafeBytes({ Deflate.pack($0, .gzip) }) {
          chunk.data = packed
          chunk.encoding = .gzip
        }
        try await run.take(chunk)
        rest = rest.dropFirst(100_000)
      }
      try await run.finish()
    } catch {
      await run.end(after: error)
      throw error
    }
    await run.end(after: nil)
  }

  func progress(_ id: String) async throws -> Upload {
    try #require(try await uploads.getUpload(.init(uploadId: id), context: anna).upload)
  }

  @discardableResult
  func putUpload(_ name: String, _ id: String, type: String = "Note") async throws -> PutAssetResponse {
    try await put(name, "") { put in
      put.recordType = type
      put.content = .uploadId(id)
    }
  }

  /// Returns the joined chunks of a download from an offset, and their number.
  func download(_ name: String, from offset: Int64 = 0, packs: Bool = false) async throws -> (
    content: [UInt8], chunks: Int
  ) {
    let version = try await repository.version(0, of: name, zone: NameRules.defaultZone, user: "anna")
    let download = Download(
      contents: contents, asset: version.asset(in: NameRules.defaultZone), digest: try #require(version.digest),
      packs: packs)
    var content: [UInt8] = []
    var chunks = 0
    try await download.run(from: offset) { chunk in
      #expect(chunk.offset == offset + Int64(content.count))
      #expect((chunk.asset != nil) == (chunks == 0))
      #expect(chunk.encoding == .identity || chunk.encoding == .gzip && packs)
      if chunk.encoding == .gzip {
        let unpacked = chunk.data.withUnsafeBytes { Deflate.unpack($0, .gzip, sizeMax: ContentBlock.sizeBytes) }
        content += try #require(unpacked)
      } else {
        content += chunk.data
      }
      chunks += 1
    }
    return (content, chunks)
  }
}
