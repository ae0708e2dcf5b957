import CampanileAPI
import CampanileBase
import CampanileService
import CampanileStore

/// An open watch of the ends of pushes, which reads them from the delivery log.
struct PushWatch: Sendable {
  private static let pageRows = 64

  let store: Store
  let ends: PushEnds

  /// Runs until the task is cancelled, the service stops or `send` throws. Throws OUT_OF_RANGE, reason
  /// `TOKEN_TOO_OLD`, if the watch is too far behind.
  func run(_ request: WatchPushesRequest, send: (WatchPushesResponse) async throws -> Void) async throws {
    // Subscribe before reading the log, so that no commit is missed.
    let signal = try ends.hub.add(user: PushEnds.scope)
    defer { ends.hub.remove(signal, user: PushEnds.scope) }
    var position = try await RPCError.convertingStoreErrors {
      try await ends.start(resumeToken: request.resumeToken, store)
    }
    try await send(WatchPushesResponse(resumeToken: position.text(user: PushEnds.scope), event: .started(.init())))
    while true {
      let found = try await RPCError.convertingStoreErrors {
        try await ends.entries(after: position, limit: Self.pageRows, store)
      }
      if found.isEmpty {
        try await signal.wait()
        continue
      }
      // A push that is replayed meanwhile is no longer in the delivery log.
      let pushes = try await RPCError.convertingStoreErrors {
        try await store.read { transaction in
          try found.map { end in
            try transaction.queryOne(PushReading.deliveryLogOneSQL, [.text(end.apnsID)], PushReading.push)
          }
        }
      }
      for (entry, push) in zip(found, pushes) {
        position.sequence = entry.sequence
        guard let push, request.userId.isEmpty || push.userId == request.userId,
          request.activityId.isEmpty || push.activityId == request.activityId
        else { continue }
        try await send(WatchPushesResponse(resumeToken: position.text(user: PushEnds.scope), event: .push(push)))
      }
    }
  }
}
