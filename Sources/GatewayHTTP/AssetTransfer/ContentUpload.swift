import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import NIOCore

/// The response to an upload.
struct UploadAnswer: Sendable {
  var status: Int
  var headers: [(String, String)]
  var body: [UInt8]
}

/// Runs the calls of one upload with the caller's own credential; each call is authorized like any other.
///
/// Reads the current asset, creates the upload, streams the body to `UploadContent`, and commits with `PutAsset`. If a
/// step fails, the upload is cancelled.
struct ContentUpload: Sendable {
  let plan: UploadPlan
  let calls: InnerCalls
  let body: NIOLoopBound<UploadBody>
  /// Requests the body from the connection. Called on its event loop.
  let readBody: @Sendable () -> Void

  private enum Current {
    case absent
    case known(Asset)
    /// The caller may write but not read the asset.
    case hidden
  }

  func run() async throws(RPCError) -> UploadAnswer {
    let current = try await current()
    var request = plan.request
    try apply(current, to: &request.put)
    let upload = try await create(request.put, current)
    do throws(RPCError) {
      try await send(to: upload)
      request.put?.content = .uploadId(upload)
      let response: PutAssetResponse = try await unary(AssetsServiceMethods.putAsset, request)
      return answer(response, isNew: isNew(current))
    } catch {
      let cancel = CancelUploadRequest(uploadId: upload)
      // The service itself purges an upload that cannot be cancelled now.
      let _: CancelUploadResponse? = try? await unary(UploadsServiceMethods.cancelUpload, cancel)
      throw error
    }
  }

  private func unary<Q: ProtoMessage, R: ProtoMessage>(_ method: MethodDescriptor, _ request: Q) async throws(RPCError)
    -> R
  {
    try await calls.unary(method, request, as: .bearer(plan.authorization), metadata: plan.metadata)
  }

  // MARK: current asset

  private func current() async throws(RPCError) -> Current {
    let request = GetAssetRequest(zoneId: plan.request.zoneId, name: plan.request.put?.name ?? "")
    do throws(RPCError) {
      let response: GetAssetResponse = try await unary(AssetsServiceMethods.getAsset, request)
      return response.asset.map { .known($0) } ?? .absent
    } catch {
      if error.code == .notFound { return .absent }
      if error.code == .permissionDenied { return .hidden }
      throw error
    }
  }

  /// Checks the condition before any content is accepted. The commit checks it again.
  private func apply(_ current: Current, to put: inout AssetPut?) throws(RPCError) {
    switch (plan.condition, current) {
    case (nil, _): break
    case (.matches(let etag), .known(let asset)) where asset.etag != etag: throw Self.mismatch(asset)
    case (.matches, .absent), (.exists, .absent): throw Self.mismatch(nil)
    case (.matches(let etag), _): put?.etag = etag
    case (.exists, .known(let asset)): put?.etag = asset.etag
    case (.exists, .hidden):
      throw RPCError.invalidField(
        "if-match", "* requires permission to read the asset", reason: "CONDITION_UNSUPPORTED")
    case (.isNew, .known(let asset)): throw Self.mismatch(asset)
    case (.isNew, _): put?.mustNotExist = true
    }
  }

  private static func mismatch(_ asset: Asset?) -> RPCError {
    RPCError(
      .aborted, asset == nil ? "there is no such asset" : "the asset has another etag", reason: "ETAG_MISMATCH",
      errorMetadata: ["etag": asset?.etag ?? ""])
  }

  private func isNew(_ current: Current) -> Bool {
    switch current {
    case .absent: true
    case .known: false
    case .hidden: plan.condition == .isNew
    }
  }

  // MARK: content

  private func create(_ put: AssetPut?, _ current: Current) async throws(RPCError) -> String {
    var request = CreateUploadRequest(
      zoneId: plan.request.zoneId, deviceId: plan.request.deviceId, recordType: put?.recordType ?? "")
    if request.recordType.isEmpty, case .known(let asset) = current { request.recordType = asset.recordType }
    request.sizeBytes = plan.sizeBytes
    request.sha256 = plan.sha256
    request.strict = put?.strict ?? false
    let response: CreateUploadResponse = try await unary(UploadsServiceMethods.createUpload, request)
    guard let id = response.upload?.id, !id.isEmpty else {
      throw RPCError(.internalError, "the service returned no upload id", reason: "RESPONSE_INVALID")
    }
    return id
  }

  private func send(to upload: String) async throws(RPCError) {
    let promise = calls.loop.makePromise(of: [UInt8].self)
    calls.loop.execute { [self] in
      let body = body.value
      do throws(RPCError) {
        try body.start(upload) { onCredit in
          calls.stream(
            UploadsServiceMethods.uploadContent, as: .bearer(plan.authorization), metadata: plan.metadata,
            promise: promise, onCredit: onCredit)
        }
        readBody()
      } catch { promise.fail(error) }
    }
    do { _ = try await promise.futureResult.get() } catch {
      throw error as? RPCError ?? RPCError(.internalError, "the call failed", reason: "CALL_FAILED")
    }
  }

  // MARK: response

  private func answer(_ response: PutAssetResponse, isNew: Bool) -> UploadAnswer {
    var headers = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]
    // A merged content differs from the bytes sent, so it gets no validator (RFC 9110 section 9.3.4).
    if !response.merged, let asset = response.asset {
      if let tag = EntityTag.header(asset.etag) { headers.append(("ETag", tag)) }
      if let digest = ContentHead.digest(asset.sha256) { headers.append(("Repr-Digest", digest)) }
    }
    return UploadAnswer(status: isNew ? 201 : 200, headers: headers, body: response.jsonUTF8Bytes())
  }
}
