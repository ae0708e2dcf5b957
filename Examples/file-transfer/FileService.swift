import CampanileBase
import CampanileCrypto
import CampanileRPC
import Synchronization

/// A service of files in memory.
struct FileService: FileServiceProtocol {
  static let sizeBytesMax = 16 << 20
  private let files = Files()

  func upload(_ requests: RequestStream<UploadRequest>, context: CallContext) async throws -> UploadResponse {
    var name = ""
    var bytes: [UInt8] = []
    for try await request in requests {
      switch request.content {
      case .name(let given): name = given
      case .part(let part):
        guard bytes.count + part.count <= Self.sizeBytesMax else {
          throw RPCError(.resourceExhausted, "a file has at most \(Self.sizeBytesMax) bytes", reason: "FILE_TOO_LONG")
        }
        bytes += part
      case .sha256(let checksum):
        guard !name.isEmpty else { throw RPCError.invalidField("name", "must be given") }
        guard try sha256(bytes) == checksum else {
          throw RPCError(.dataLoss, "the bytes of \(name) do not have this SHA-256", reason: "CHECKSUM_DIFFERS")
        }
        files.store(bytes, name)
        return UploadResponse(sizeBytes: Int64(bytes.count))
      case nil: throw RPCError.invalidField("content", "must be given")
      }
    }
    throw RPCError(.invalidArgument, "the upload ended without a SHA-256", reason: "CHECKSUM_MISSING")
  }

  func download(
    _ request: DownloadRequest, context: CallContext, responses: ResponseSink<DownloadResponse>
  ) async throws {
    guard let bytes = files.bytes(request.name) else {
      throw RPCError(.notFound, "there is no file \(request.name)", reason: "FILE_NOT_FOUND")
    }
    // `send` waits while the caller is slow, so only a few parts are in memory twice.
    for part in parts(bytes) { try await responses.send(DownloadResponse(content: .part(part))) }
    try await responses.send(DownloadResponse(content: .sha256(try sha256(bytes))))
  }
}

/// The stored files, by name.
private final class Files: Sendable {
  private let contents = Mutex<[String: [UInt8]]>([:])

  func store(_ bytes: [UInt8], _ name: String) { contents.withLock { $0[name] = bytes } }
  func bytes(_ name: String) -> [UInt8]? { contents.withLock { $0[name] } }
}

/// Returns the bytes in parts of 64 KiB, far below the maximum length of a message.
func parts(_ bytes: [UInt8]) -> some Sequence<[UInt8]> {
  stride(from: 0, to: bytes.count, by: 1 << 16).lazy.map { Array(bytes[$0..<min($0 + 1 << 16, bytes.count)]) }
}

/// Returns the checksum in hexadecimal.
func sha256(_ bytes: [UInt8]) throws -> String {
  try bytes.withUnsafeBytes { try SHA256.digest($0) }.hexadecimal
}
