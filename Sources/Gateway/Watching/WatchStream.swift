import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import NIOCore

/// One stream of `WatchMany`: its watches, and their messages that wait for the caller.
///
/// Watches take turns. A watch's service gets credit again when the caller has taken all of the watch's messages, so
/// that at most a stream's initial credit of each waits here.
///
/// `@unchecked Sendable`: everything but the constants is used on `loop` only.
final class WatchStream: @unchecked Sendable {
  static let watchesMax = 64
  /// Bytes of waiting messages of all watches together beyond which no watch gets more credit.
  static let waitingBytesMax = 4 * 1024 * 1024
  /// Bytes of waiting messages beyond which a watch that gets another one fails with `SLOW_CONSUMER`. The credit that
  /// each watch begins with allows it 1 MiB.
  static let unreadBytesMax = WireLimits().unreadBytesMax

  let id: String
  let call: LocalCall
  /// Identifies the credential that may change the stream.
  let owner: String
  private let methods: [String: MethodDescriptor]
  private let callLoops: CallLoops
  private var watches: [String: WatchCall] = [:]
  /// Watches with waiting events, in the order of their turns.
  private var turns: [WatchCall] = []
  private(set) var waitingBytes = 0
  private var waiter: CheckedContinuation<WatchManyResponse, any Error>?
  private var ended: (any Error)?

  init(
    id: String, call: LocalCall, methods: [String: MethodDescriptor], callLoops: CallLoops
  ) throws(CryptoError) {
    self.id = id
    self.call = call
    self.methods = methods
    self.callLoops = callLoops
    owner = try Self.owner(of: call)
  }

  /// Identifies a credential, and the member's session that was presented with it.
  static func owner(of call: LocalCall) throws(CryptoError) -> String {
    let session = try CallerMetadata.digest(call.identity)
    return "\(call.credential?.id ?? "trusted \(call.principalName ?? "")") \(session)"
  }

  var loop: any EventLoop { call.loop }

  // MARK: changes

  /// Removes and adds watches: all or none.
  ///
  /// - Throws: ALREADY_EXISTS `WATCH_ID_IN_USE`, RESOURCE_EXHAUSTED `WATCHES_EXHAUSTED`, or NOT_FOUND if the stream has
  ///   ended.
  func update(add: [Watch], removing removed: [String]) throws(RPCError) {
    guard ended == nil else { throw Self.notFound(id) }
    let kept = Set(watches.keys).subtracting(removed)
    if let used = add.first(where: { kept.contains($0.id) }) {
      throw RPCError(.alreadyExists, "the watch \(used.id.debugDescription) is open", reason: "WATCH_ID_IN_USE")
    }
    guard kept.count + add.count <= Self.watchesMax else {
      throw RPCError(
        .resourceExhausted, "a stream has at most \(Self.watchesMax) watches", reason: "WATCHES_EXHAUSTED")
    }
    for id in removed { remove(id) }
    for watch in add { start(watch) }
  }

  static func notFound(_ id: String) -> RPCError {
    RPCError(.notFound, "there is no open stream \(id.debugDescription)", reason: "WATCH_STREAM_NOT_FOUND")
  }

  private func remove(_ id: String) {
    guard let watch = watches.removeValue(forKey: id) else { return }
    turns.removeAll { $0 === watch }
    let wasFull = !takesMore
    waitingBytes -= watch.drop()
    watch.cancel()
    if wasFull { grantCredit() }
  }

  /// Grants the credit that watches did not get while the stream was full.
  private func grantCredit() {
    guard takesMore else { return }
    for watch in watches.values { watch.grantCredit() }
  }

  private func start(_ watch: Watch) {
    let opened = WatchCall(watch.id, self)
    watches[watch.id] = opened
    let path = Self.path(watch.method)
    guard let method = methods[path], method.kind == .serverStreaming else {
      return opened.failed(
        RPCError(
          .unimplemented, "\(watch.method.debugDescription) is not a method that can be watched",
          reason: "WATCH_UNSUPPORTED"))
    }
    do throws(RPCError) {
      let request = try WatchMessages.request(watch.requestJson, resumingAfter: watch.resumeToken)
      opened.start(method, request, callLoops)
    } catch { opened.failed(error) }
  }

  /// Returns the wire name of a method, also of one with a leading slash.
  private static func path(_ name: String) -> String { name.hasPrefix("/") ? String(name.dropFirst()) : name }

  // MARK: events

  /// Called when a watch has its first waiting event.
  func hasEvents(_ watch: WatchCall) {
    turns.append(watch)
    deliver()
  }

  func waiting(bytes: Int) { waitingBytes += bytes }

  /// Returns the next event, in turns. Throws the error with which the stream ends.
  func next() async throws -> WatchManyResponse {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        if loop.inEventLoop { wait(continuation) } else { loop.execute { self.wait(continuation) } }
      }
    } onCancel: {
      loop.execute { self.end(CancellationError()) }
    }
  }

  private func wait(_ continuation: CheckedContinuation<WatchManyResponse, any Error>) {
    if let ended { return continuation.resume(throwing: ended) }
    waiter = continuation
    deliver()
  }

  private func deliver() {
    guard let waiter, !turns.isEmpty else { return }
    self.waiter = nil
    let watch = turns.removeFirst()
    let wasFull = !takesMore
    let (event, bytes, hasMore) = watch.take()
    waitingBytes -= bytes
    if hasMore {
      turns.append(watch)
    } else if watch.isOver, watches[watch.id] === watch {
      // It has had its place until now, so that a caller that does not read cannot add others without limit.
      watches[watch.id] = nil
    }
    waiter.resume(returning: event)
    if wasFull { grantCredit() } else if !hasMore { watch.grantCredit() }
  }

  /// Whether watches may get credit.
  var takesMore: Bool { waitingBytes < Self.waitingBytesMax }

  /// Ends the stream and its watches.
  func end(_ error: any Error) {
    guard ended == nil else { return }
    ended = error
    for watch in watches.values { watch.cancel() }
    watches = [:]
    turns = []
    waiter?.resume(throwing: error)
    waiter = nil
  }

  /// Ends the stream if its credential was revoked or has expired.
  func endIfStale(nowMs: Int64) {
    guard var fault = call.credential?.fault(nowMs: { nowMs }) else { return }
    fault.processed = true
    end(fault)
  }
}
