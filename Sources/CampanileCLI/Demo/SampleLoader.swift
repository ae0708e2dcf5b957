internal import CampanileAPI
internal import CampanileCodec
internal import CampanileRPC
internal import Foundation

/// Loads a sample through the gateway, as each of its users, and the lodge as the administrator. Each user has a phone.
///
/// Loading again changes nothing: what is in place is left alone, and within a day an interrupted load is completed by its
/// request ids. Only the phones' activities are started again when they have ended, which they do after 8 h.
struct SampleLoader: Sendable {
  /// How many notifications one request carries.
  static let batchSize = 200

  private let gateway: Destination
  private let statePath: String
  /// The app that the phones have.
  private let app: String?
  private let hasLodge: Bool

  /// What is kept in `demo.json` of the data folder, mode 0600.
  private struct State: Codable {
    /// By principal.
    var users: [String: User] = [:]
    var isLodgeLoaded: Bool?
    struct User: Codable {
      var key: String
      var isLoaded: Bool
      var phone: SampleDevice?
    }
  }

  static let stateFileName = "demo.json"

  /// Throws `UsageError` for endpoints without a gateway.
  init(endpoints: Endpoints, dataFolder: String) throws(UsageError) {
    guard let service = endpoints.services["gateway"], let key = service.adminKey else {
      throw UsageError("the sample is loaded through the gateway, which is not running")
    }
    gateway = Destination(host: "127.0.0.1", port: service.rpc, token: key)
    app = endpoints.services["activities"] == nil ? nil : endpoints.apns?.topic
    hasLodge = endpoints.services["attendance"] != nil
    statePath = dataFolder + "/" + Self.stateFileName
  }

  /// Loads every user. Answers a line about each. Throws the `RPCError` of the first call that fails.
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
      let verb = known.isLoaded ? "has" : "was given"
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
    return lines + ["the users' keys and phones are in \(statePath)"]
  }

  private func client(key: String?) throws -> RPCClient {
    try ServiceConnection(Destination(host: gateway.host, port: gateway.port, token: key)).client
  }

  private func makeKey(_ principal: String) async throws -> String {
    let client = try self.client(key: gateway.token)
    var request = CreateApiKeyRequest()
    request.principal = principal
    request.description = "sample"
    let reply = try await AccessServiceClient(client).createApiKey(request)
    await client.close()
    return reply.secret
  }

  private func load(_ user: SampleFile.User, key: String) async throws {
    let client = try self.client(key: key)
    let service = NotificationsServiceClient(client)
    let bucketIDs = try await loadBuckets(user.buckets.buckets, service)
    // The service sets the times: the oldest goes first, so that the order stays.
    let entries = user.notifications.notifications.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    var readIDs: [String] = []
    for start in stride(from: 0, to: entries.count, by: Self.batchSize) {
      let part = entries[start..<min(start + Self.batchSize, entries.count)]
      readIDs += try await create(Array(part), bucketIDs, service)
    }
    for start in stride(from: 0, to: readIDs.count, by: Self.batchSize) {
      var request = MarkNotificationsReadRequest()
      request.notificationIds = Array(readIDs[start..<min(start + Self.batchSize, readIDs.count)])
      _ = try await service.markNotificationsRead(request)
    }
    await client.close()
  }

  /// The server's ids by those of the sample.
  private func loadBuckets(
    _ buckets: [SampleFile.Bucket], _ service: NotificationsServiceClient
  ) async throws -> [String: String] {
    var ids: [String: String] = [:]
    for bucket in buckets {
      var request = CreateBucketRequest()
      request.bucket = bucket.message
      request.requestId = "sample-\(bucket.id)"
      guard let made = try await service.createBucket(request).bucket else { throw Self.incomplete("bucket") }
      ids[bucket.id] = made.id
    }
    return ids
  }

  /// Creates the notifications and answers the ids of those that were read.
  private func create(
    _ entries: [SampleFile.Entry], _ bucketIDs: [String: String], _ service: NotificationsServiceClient
  ) async throws -> [String] {
    var batch = BatchCreateNotificationsRequest()
    batch.requests = entries.map { entry in
      var request = CreateNotificationRequest()
      request.notification = entry.message(bucketID: bucketIDs[entry.bucketId] ?? entry.bucketId)
      request.requestId = "sample-\(entry.id)"
      return request
    }
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
    RPCError(.internalError, "the answer has no \(field)", reason: "REPLY_INVALID")
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
