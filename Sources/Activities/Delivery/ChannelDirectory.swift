import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Throws NOT_FOUND, reason `CHANNEL_NOT_FOUND`, if APNs knows no such channel.
typealias ChannelCheck = @Sendable (_ app: String, _ environment: String, _ channelID: String) async throws -> Void

/// The broadcast channels at APNs ("Sending channel management requests to APNs").
///
/// The table `push_channels` remembers their policies, because a channel never changes.
struct ChannelDirectory: Sendable {
  /// Maximum number of channels that are read at APNs concurrently.
  static let readsMax = 16

  /// An app in an environment, whose channels one list at APNs contains.
  struct Scope: Sendable, Hashable {
    var app: String
    var environment: String

    func channel(_ id: String, _ policy: MessageStoragePolicy) -> BroadcastChannel {
      BroadcastChannel(id: id, app: app, environment: environment, storagePolicy: policy)
    }
  }

  let delivery: RunningDelivery

  /// Creates a channel at APNs and returns its id.
  func create(_ scope: Scope, _ policy: MessageStoragePolicy) async throws -> String {
    let body = #"{"message-storage-policy":\#(policy.number),"push-type":"LiveActivity"}"#
    let answer = try await call("POST", scope, APNsPath.channels, body: body)
    guard answer.status == 201, let id = answer.channelID, BroadcastRules.isChannelID(id) else {
      throw Self.refused(answer)
    }
    return id
  }

  /// Reads a channel at APNs and remembers its policy.
  func read(_ id: String, _ scope: Scope) async throws -> BroadcastChannel {
    let answer = try await call("GET", scope, APNsPath.channels, channelID: id)
    if Self.isUnknown(answer) { throw RPCError.missing("channel", id, field: "channelId", .channelNotFound) }
    guard answer.status == 200, let policy = BroadcastRules.storagePolicy(in: answer.body) else {
      throw Self.refused(answer)
    }
    let channel = scope.channel(id, policy)
    _ = try await RPCError.convertingStoreErrors {
      try await delivery.store.write { try channel.remember($0, atMs: nowMs) }
    }
    return channel
  }

  /// Returns a known channel without asking APNs; reads it at APNs otherwise.
  func find(_ id: String, _ scope: Scope) async throws -> BroadcastChannel {
    let known = try await RPCError.convertingStoreErrors {
      try await delivery.store.readSingle { try $0.storagePolicy(ofChannel: id, scope) }
    }
    if let known { return scope.channel(id, known) }
    return try await read(id, scope)
  }

  /// Returns the ids of all channels of an app, sorted.
  func ids(_ scope: Scope) async throws -> [String] {
    let answer = try await call("GET", scope, APNsPath.allChannels)
    guard answer.status == 200, let ids = BroadcastRules.channels(in: answer.body) else { throw Self.refused(answer) }
    return ids.sorted()
  }

  /// Returns the channels with these ids, in their order. Channels that were deleted meanwhile are left out.
  func find(all ids: [String], _ scope: Scope) async throws -> [BroadcastChannel] {
    var found: [String: BroadcastChannel] = [:]
    var rest = ids[...]
    try await withThrowingTaskGroup(of: BroadcastChannel?.self) { group in
      var running = 0
      while running > 0 || !rest.isEmpty {
        while running < Self.readsMax, let id = rest.popFirst() {
          running += 1
          group.addTask {
            do {
              return try await find(id, scope)
            } catch let error as RPCError where error.reason == Reason.channelNotFound.rawValue {
              return nil
            }
          }
        }
        if let channel = try await group.next() ?? nil { found[channel.id] = channel }
        running -= 1
      }
    }
    return ids.compactMap { found[$0] }
  }

  /// Deletes a channel at APNs. A repeated deletion finds no channel, which counts as success.
  func delete(_ id: String, _ scope: Scope) async throws {
    let answer = try await call("DELETE", scope, APNsPath.channels, channelID: id)
    guard answer.status == 204 || answer.status == 200 || Self.isUnknown(answer) else { throw Self.refused(answer) }
    _ = try await RPCError.convertingStoreErrors {
      try await delivery.store.write { transaction in
        try transaction.execute(
          "DELETE FROM push_channels WHERE app = $1 AND environment = $2 AND channel_id = $3",
          [.text(scope.app), .text(scope.environment), .text(id)])
      }
    }
  }

  // MARK: Calls

  private var nowMs: Int64 { delivery.delivery.environment.nowMs() }

  /// Returns the route of an app's channels.
  ///
  /// - Throws: FAILED_PRECONDITION, reason `SIGNING_KEY_MISSING`.
  func route(_ scope: Scope) throws(RPCError) -> PushRoute {
    guard let host = delivery.delivery.configuration.endpoints.channels[scope.environment] else {
      throw .invalidField("environment", "is not configured", .environmentUnknown)
    }
    guard let id = delivery.delivery.keys.id(app: scope.app, environment: scope.environment) else {
      throw RPCError(
        .failedPrecondition, "no signing key matches this app", .signingKeyMissing,
        errorMetadata: ["app": scope.app, "environment": scope.environment])
    }
    return PushRoute(host: host, teamID: id.teamID, keyID: id.keyID)
  }

  private func call(
    _ method: String, _ scope: Scope, _ path: String, channelID: String? = nil, body: String = ""
  ) async throws -> PushAnswer {
    let route = try route(scope)
    let authorization = try await RPCError.convertingStoreErrors {
      try await delivery.routing.authorization(for: route)
    }
    var request = PushRequest(
      ticket: 0, path: APNsPath.apps + scope.app + path, authorization: authorization, id: "",
      payload: Array(body.utf8))
    request.method = method
    request.channelID = channelID
    return try await delivery.caller.call(request, to: route)
  }

  private static func isUnknown(_ answer: PushAnswer) -> Bool {
    answer.reason == APNsReason.channelNotRegistered.text || answer.reason == APNsReason.badChannelID.text
  }

  /// Maps a refusal by APNs to an RPC error that carries APNs' reason.
  private static func refused(_ answer: PushAnswer) -> RPCError {
    let reason = answer.reason.isEmpty ? "Status\(answer.status)" : answer.reason
    let code: RPCError.Code =
      switch answer.status {
      case 429: .resourceExhausted
      case 400..<500: .failedPrecondition
      default: .unavailable
      }
    return RPCError(
      code, "APNs refused: \(reason)", reason: "APNS_REFUSED",
      errorMetadata: ["apnsReason": reason, "status": "\(answer.status)"])
  }
}

/// The table `push_channels`.
extension BroadcastChannel {
  func remember(_ transaction: WriteTransaction, atMs: Int64) throws {
    try transaction.execute(
      """
      INSERT INTO push_channels (app, environment, channel_id, storage_policy, created_at_ms)
      VALUES ($1, $2, $3, $4, $5) ON CONFLICT (app, environment, channel_id) DO NOTHING
      """, [.text(app), .text(environment), .text(id), .int(storagePolicy.number), .integer(atMs)])
  }
}

extension ReadTransaction {
  /// Returns the policy of a known channel.
  func storagePolicy(ofChannel id: String, _ scope: ChannelDirectory.Scope) throws -> MessageStoragePolicy? {
    try queryOne(
      "SELECT storage_policy FROM push_channels WHERE app = $1 AND environment = $2 AND channel_id = $3",
      [.text(scope.app), .text(scope.environment), .text(id)]
    ) { try $0.integer(0) == 0 ? .noneValue : .mostRecent }
  }
}

extension MessageStoragePolicy {
  /// APNs' number of the policy.
  var number: Int { self == .mostRecent ? 1 : 0 }
}
