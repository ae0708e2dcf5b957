import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import NIOCore

/// Implements `WatchService`. Each watch is a call of the gateway's own dispatcher with the caller's credential.
struct WatchServiceImplementation: WatchServiceProtocol {
  let streams: WatchStreams
  private let methods: [String: MethodDescriptor]
  private let callLoops = CallLoops()

  /// - Parameter methods: The methods of all backends.
  init(streams: WatchStreams, methods: [MethodDescriptor]) {
    self.streams = streams
    self.methods = Dictionary(methods.map { ($0.path, $0) }) { first, _ in first }
  }

  func watchMany(
    _ request: WatchManyRequest, context: CallContext, responses: ResponseSink<WatchManyResponse>
  ) async throws {
    try request.checkConstraints()
    try Self.checkIDs(request.watches, "watches")
    guard let call = LocalCall.current else { throw CredentialFault.missing }
    let id = Base64URL.encode(try SecureRandom.bytes(16))
    let stream = try WatchStream(id: id, call: call, methods: methods, callLoops: callLoops)
    try streams.add(stream)
    defer {
      streams.remove(stream)
      stream.loop.execute { stream.end(CancellationError()) }
    }
    try await responses.send(.init(event: .started(.init(streamId: id))))
    try await Self.update(stream, add: request.watches, removing: [])
    while true { try await responses.send(try await stream.next()) }
  }

  func updateWatches(_ request: UpdateWatchesRequest, context: CallContext) async throws -> UpdateWatchesResponse {
    try request.checkConstraints()
    try Self.checkIDs(request.add, "add")
    guard let call = LocalCall.current else { throw CredentialFault.missing }
    guard let stream = streams.stream(request.streamId, owner: try WatchStream.owner(of: call)) else {
      throw WatchStream.notFound(request.streamId)
    }
    try await Self.update(stream, add: request.add, removing: request.removeIds)
    return UpdateWatchesResponse()
  }

  private static func update(_ stream: WatchStream, add: [Watch], removing removed: [String]) async throws {
    try await stream.loop.submit { try stream.update(add: add, removing: removed) }.get()
  }

  private static func checkIDs(_ watches: [Watch], _ field: String) throws(RPCError) {
    guard Set(watches.map(\.id)).count == watches.count else {
      throw RPCError.invalidField(field, "must have different ids", reason: "WATCH_ID_DUPLICATE")
    }
  }
}
