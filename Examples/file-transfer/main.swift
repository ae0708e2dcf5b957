import CampanileBase
import CampanileRPC

extension FileServiceClient {
  /// Uploads a file and returns its size on the server.
  func upload(_ bytes: [UInt8], as name: String, sha256 checksum: String) async throws -> Int64 {
    try await upload { requests in
      try await requests.send(UploadRequest(content: .name(name)))
      for part in parts(bytes) { try await requests.send(UploadRequest(content: .part(part))) }
      try await requests.send(UploadRequest(content: .sha256(checksum)))
    }.sizeBytes
  }

  /// Downloads a file. Throws DATA_LOSS if its checksum differs.
  func download(_ name: String) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    for try await response in download(DownloadRequest(name: name)) {
      switch response.content {
      case .part(let part): bytes += part
      case .sha256(let checksum):
        if try sha256(bytes) == checksum { return bytes }
      case nil: break
      }
    }
    throw RPCError(.dataLoss, "\(name) did not arrive completely", reason: "CHECKSUM_DIFFERS")
  }
}

let server = RPCServer(services: [FileService()])
try await server.run { address in
  try await RPCClient.with(ClientConfiguration(addresses: [address])) { caller in
    let client = FileServiceClient(caller)
    let file = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* $0) }
    let checksum = try sha256(file)
    print("uploaded \(try await client.upload(file, as: "squares", sha256: checksum)) bytes")
    print("downloaded the same bytes: \(try await client.download("squares") == file)")
    do { _ = try await client.upload(file.dropLast(), as: "short", sha256: checksum) } catch { print(error) }
    do { _ = try await client.download("short") } catch { print(error) }
  }
}
