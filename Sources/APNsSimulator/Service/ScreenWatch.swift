import CampanileAPI
import CampanileBase
import CampanileService
import Synchronization

/// An open watch of screens. It holds no changes: it reads the log of changed screens, and sends each with its newest
/// state.
struct ScreenWatch: Sendable {
  /// The scope of resume tokens, in place of a user.
  static let scope = "screens"

  let simulator: Simulator
  let pageRows: Int

  /// Runs until the task is cancelled, the process ends or `send` throws. Throws OUT_OF_RANGE, reason `TOKEN_TOO_OLD`,
  /// if the watch is too far behind.
  func run(_ request: WatchScreensRequest, send: (WatchScreensResponse) async throws -> Void) async throws {
    let only = request.screenId.isEmpty ? nil : ScreenID.key(request.screenId) ?? ""
    // Subscribe before reading the log, so that no change is missed.
    let signal = try simulator.hub.add(user: Simulator.watchers)
    defer { simulator.hub.remove(signal, user: Simulator.watchers) }
    var position = try simulator.state.withLock { state throws(RPCError) in
      try state.screenLog.start(resumeToken: request.resumeToken, scope: Self.scope)
    }
    try await send(WatchScreensResponse(resumeToken: position.text(user: Self.scope), event: .started(.init())))
    while true {
      let (events, last) = try page(after: position, only: only, app: request.app)
      for (sequence, event) in events {
        position.sequence = sequence
        try await send(WatchScreensResponse(resumeToken: position.text(user: Self.scope), event: event))
      }
      if position.sequence == last { try await signal.wait() } else { position.sequence = last }
    }
  }

  /// Returns the changes of the next entries of the log: each screen once, where it was changed last.
  private func page(
    after position: ResumeToken, only: String?, app: String
  ) throws(RPCError) -> (events: [(Int64, WatchScreensResponse.Event)], last: Int64) {
    let nowMs = simulator.nowMs()
    let (changes, last) = try simulator.state.withLock { state throws(RPCError) in
      let keys = try state.screenLog.entries(after: position.sequence, limit: pageRows)
      var seen: Set<String> = []
      var changes: [(sequence: Int64, key: String, view: ScreenView?)] = []
      for (index, key) in keys.enumerated().reversed() {
        guard only == nil || only == key, seen.insert(key).inserted else { continue }
        let view = state.view(key, nowMs: nowMs)
        if let view, !app.isEmpty, view.screen.bundleID != app { continue }
        changes.append((position.sequence + Int64(index) + 1, key, view))
      }
      return (changes, position.sequence + Int64(keys.count))
    }
    let events = changes.reversed().map { change -> (Int64, WatchScreensResponse.Event) in
      (change.sequence, change.view.map { .screen($0.message) } ?? .removedScreenId(ScreenID.text(key: change.key)))
    }
    return (events, last)
  }
}

/// An open watch of the requests to the simulated APNs.
struct SimulatedPushWatch: Sendable {
  /// The scope of resume tokens, in place of a user.
  static let scope = "simulated-pushes"

  let simulator: Simulator
  let pageRows: Int

  /// Runs until the task is cancelled, the process ends or `send` throws. Throws OUT_OF_RANGE, reason `TOKEN_TOO_OLD`,
  /// if the watch is too far behind.
  func run(
    _ request: WatchSimulatedPushesRequest, send: (WatchSimulatedPushesResponse) async throws -> Void
  ) async throws {
    let only = request.screenId.isEmpty ? nil : ScreenID.key(request.screenId) ?? ""
    let signal = try simulator.hub.add(user: Simulator.watchers)
    defer { simulator.hub.remove(signal, user: Simulator.watchers) }
    var position = try simulator.state.withLock { state throws(RPCError) in
      try ResumeToken.start(
        request.resumeToken, present: state.presentPush, scope: Self.scope, isRetained: state.log.isRetained)
    }
    try await send(
      WatchSimulatedPushesResponse(resumeToken: position.text(user: Self.scope), event: .started(.init())))
    while true {
      let pushes = try simulator.state.withLock { state throws(RPCError) in
        guard state.log.isRetained(after: position.sequence) else { throw ChangeLogTable.tokenTooOld }
        return state.log.entries(after: position.sequence, limit: pageRows)
      }
      for push in pushes {
        position.sequence = push.sequence
        guard only == nil || push.screenKey == only else { continue }
        try await send(
          WatchSimulatedPushesResponse(resumeToken: position.text(user: Self.scope), event: .push(push.message)))
      }
      if pushes.isEmpty { try await signal.wait() }
    }
  }
}
