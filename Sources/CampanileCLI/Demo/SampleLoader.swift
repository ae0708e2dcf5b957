internal import CampanileAPI
import CampanileBase
internal import CampanileCodec
internal import CampanileRPC
internal import Foundation

/// Loads a sample through the gateway: each user's data as that user, and the lodge as the administrator.
///
/// Each user gets a phone. Loading is idempotent: existing data is unchanged, and an interrupted load can be completed
/// within a day because of its request ids. Only the phones' activities, which end after 8 h, are started again.
struct SampleLoader: Sendable {
  /// Number of notifications per request.
  static let batchSize = 200

  private let gateway: Destination
  private let statePath: String
  /// Topic of the phones' app; nil without an activities service.
  private let app: String?
  private let hasLodge: Bool

  /// The contents of `demo.json` in the data folder, which has mode 0600.
  private struct State: Codable {
    /// Users by principal.
    var users: [String: User] = [:]
    var isLodgeLoaded: Bool?
    /// PINs of the lodge's members, by name.
    var pins: [String: String]?
    var arePinsSet: Bool?
    struct User: Codable {
      var key: String
      var isLoaded: Bool
      var phone: SampleDevice?
    }
  }

  static let stateFileName = "demo.json"

  /// Creates a loader.
  ///
  /// - Throws: `UsageError` if the endpoints have no gateway.
  init(endpoints: Endpoints, dataFolder: String) throws(UsageError) {
    guard let service = endpoints.services["gateway"], let key = service.adminKey else {
      throw UsageError("the sample is loaded through the gateway, which is not running")
    }
    gateway = Destination(host: "127.0.0.1", port: service.rpc, token: key)
    app = endpoints.services["activities"] == nil ? nil : endpoints.apns?.topic
    hasLodge = endpoints.services["attendance"] != nil
    statePath = dataFolder + "/" + Self.stateFileName
  }

  /// Loads every user and the lodge.
  ///
  /// - Returns: Lines that describe the loaded data.
  /// - Throws: The `RPCError` of the first call that fails.
  func load(_ sample: SampleFile) async throws -> [String] {
    var state = readState()
    var lines: [String] = []
    for user in sample.users {
      if state.users[user.principal] == nil {
        state.users[user.principal] = State.User(key: try await makeKey(user.principal), isLoaded: false)
        try write(state)
      }
      guard let known = state.users[user.principal] else { continue }
      if !known.isLoaded {
        try await load(user, key: known.key)
        state.users[user.principal]?.isLoaded = true
        try write(state)
      }
      if let app {
        var phone = try known.phone ?? SampleDevice.make()
        let client = try self.client(key: known.key)
        try await phone.open(app: app, client)
        await client.close()
        state.users[user.principal]?.phone = phone
        try write(state)
      }
      let verb = known.isLoaded ? "has" : "received"
      lines.append(
        "\(user.principal) \(verb) \(user.buckets.buckets.count) buckets and "
          + "\(user.notifications.notifications.count) notifications")
    }
    if let lodge = sample.lodge, hasLodge, state.isLodgeLoaded != true {
      let client = try self.client(key: gateway.token)
      lines.append(try await SampleLodge(service: LodgeServiceClient(client)).load(lodge))
      await client.close()
      state.isLodgeLoaded = true
      try write(state)
    }
    if state.isLodgeLoaded == true, state.arePinsSet != true, hasLodge {
      let client = try self.client(key: gateway.token)
      try await SampleLodge.setPins(MembersServiceClient(client), state.pins ?? [:]) { pins in
        state.pins = pins
        try write(state)
      }
      await client.close()
      state.arePinsSet = true
      try write(state)
    }
    return lines + ["the users' keys and phones, and the members' PINs, are in \(statePath)"]
  }

  private func client(key: String?) throws -> RPCClient {
    try ServiceConnection(Destination(host: gateway.host, port: gateway.port, token: key)).client
  }

  private func makeKey(_ principal: String) async throws -> String {
    let client = try self.client(key: gateway.token)
    let request = CreateApiKeyRequest(principal: principal, description: "sample")
    let reply = try await AccessServiceClient(client).createApiKey(request)
    await client.close()
    return reply.secret
  }

  private func load(_ user: SampleFile.User, key: String) async throws {
    let client = try self.client(key: key)
    let service = NotificationsServiceClient(client)
    let bucketIDs = try await loadBuckets(user.buckets.buckets, service)
    // The service sets the creation times: create the oldest notification first to preserve the order.
    let entries = user.notifications.notifications.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    var readIDs: [String] = []
    for start in stride(from: 0, to: entries.count, by: Self.batchSize) {
      let part = entries[start..<min(start + Self.batchSize, entries.count)]
      readIDs += try await create(Array(part), bucketIDs, service)
    }
    for start in stride(from: 0, to: readIDs.count, by: Self.batchSize) {
      let request = MarkNotificationsReadRequest(
        notificationIds: Array(readIDs[start..<min(start + Self.batchSize, readIDs.count)]))
      _ = try await service.markNotificationsRead(request)
    }
    await client.close()
  }

  /// Creates the buckets and returns the server's ids by the sample's ids.
  private func loadBuckets(
    _ buckets: [SampleFile.Bucket], _ service: NotificationsServiceClient
  ) async throws -> [String: String] {
    var ids: [String: String] = [:]
    for bucket in buckets {
      let request = CreateBucketRequest(bucket: bucket.message, requestId: "sample-\(bucket.id)")
      guard let made = try await service.createBucket(request).bucket else { throw Self.incomplete("bucket") }
      ids[bucket.id] = made.id
    }
    return ids
  }

  /// Creates the notifications and returns the ids of those that are marked as read in the sample.
  private func create(
    _ entries: [SampleFile.Entry], _ bucketIDs: [String: String], _ service: NotificationsServiceClient
  ) async throws -> [String] {
    let batch = BatchCreateNotificationsRequest(
      requests: entries.map { entry in
        CreateNotificationRequest(
          notification: entry.message(bucketID: bucketIDs[entry.bucketId] ?? entry.bucketId),
          requestId: "sample-\(entry.id)")
      })
    let reply = try await service.batchCreateNotifications(batch)
    guard reply.results.count == entries.count else { throw Self.incomplete("results") }
    var readIDs: [String] = []
    for (entry, result) in zip(entries, reply.results) {
      switch result.outcome {
      case .notification(let made): if entry.readAt != nil { readIDs.append(made.id) }
      case .error(let error):
        throw RPCError(
          RPCError.Code(rawValue: Int(error.code)) ?? .unknown, "\(entry.title): \(error.message)",
          reason: error.reason)
      case nil: throw Self.incomplete("outcome")
      }
    }
    return readIDs
  }

  private static func incomplete(_ field: String) -> RPCError {
    RPCError(.internalError, "the response has no \(field)", reason: "REPLY_INVALID")
  }

  private func readState() -> State {
    guard let data = FileManager.default.contents(atPath: statePath) else { return State() }
    return (try? JSONDecoder().decode(State.self, from: data)) ?? State()
  }

  private func write(_ state: State) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
    try PrivateFile.write(try encoder.encode(state) + Data("\n".utf8), to: statePath)
  }
}
