public import CampanileClient
public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Writes files while the app is suspended, by a background session of the system. On Linux, by an ordinary session.
///
/// The system keeps the upload until it succeeds, also across a restart of the device. After a relaunch, create the
/// object with the same identifier: it receives the results. A credential that has expired by then fails the upload
/// with UNAUTHENTICATED; the next refresh of the app writes again.
public final class BackgroundUploads: NSObject, URLSessionDataDelegate {
  /// The result of an upload: the name of the asset, and the error.
  public typealias Completion = @Sendable (_ asset: String, RPCError?) -> Void

  private let completion: Completion
  private let bodies = Locked<[Int: [UInt8]]>([:])
  private let created = Locked<URLSession?>(nil)
  private let identifier: String
  private static let responseBytesMax = 64 * 1024

  /// - Parameter identifier: The name of the session, unique in the app.
  public init(identifier: String, completion: @escaping Completion) {
    self.identifier = identifier
    self.completion = completion
  }

  /// The session keeps this object until it is invalidated.
  public func invalidate() { created.withLock { $0 }?.finishTasksAndInvalidate() }

  private var session: URLSession {
    created.withLock { created in
      if let created { return created }
      #if canImport(Darwin)
        let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
        configuration.sessionSendsLaunchEvents = true
      #else
        let configuration = URLSessionConfiguration.default
      #endif
      let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
      created = session
      return session
    }
  }

  /// Starts to write a file of records. The bytes are copied to `folder` first, because the system reads a file.
  public func put<C: SyncContainer>(_ container: C, to zone: SyncZone, folder: URL) async throws {
    let content = try container.encoded()
    let base = try zone.store.state().assets[C.assetName]?.etag ?? ""
    let request = try await zone.campanile.caller.urlRequest(
      ContentUpload.request(
        zoneID: zone.zoneID, name: C.assetName, recordType: C.recordType, deviceID: zone.device.id, base: base,
        sha256: SHA256.hash(content)))
    let name = "upload-\(UUID().uuidString)"
    try PrivateFolder(folder).write(content, to: name)
    let task = session.uploadTask(with: request, fromFile: folder.appendingPathComponent(name))
    task.taskDescription = "\(C.assetName)\n\(folder.appendingPathComponent(name).path)"
    task.resume()
  }

  public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    bodies.withLock { bodies in
      let body = bodies[dataTask.taskIdentifier, default: []]
      if body.count + data.count <= Self.responseBytesMax {
        bodies[dataTask.taskIdentifier] = body + [UInt8](data)
      }
    }
  }

  public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let body = bodies.withLock { $0.removeValue(forKey: task.taskIdentifier) } ?? []
    let parts = (task.taskDescription ?? "").split(separator: "\n", maxSplits: 1).map(String.init)
    if parts.count == 2 { try? FileManager.default.removeItem(atPath: parts[1]) }
    guard let response = task.response as? HTTPURLResponse else {
      return completion(
        parts.first ?? "", RPCError(.unavailable, "the upload failed: \(error.map { "\($0)" } ?? "no response")"))
    }
    completion(parts.first ?? "", HTTPCaller.contentError(response, body))
  }

  public func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    // A redirected request would send its credential to another server.
    completionHandler(nil)
  }
}
