internal import CampanileAPI
internal import CampanileCrypto
internal import CampanileRPC

/// A phone of one of the sample's users: it has told its token, and shows the unread notifications as a Live Activity.
struct SampleDevice: Sendable, Hashable, Codable {
  /// Of alerts, in hexadecimal digits, as ActivityKit and UIKit give them out.
  var token: String
  /// Of the activity; another one for each.
  var activityToken: String

  static let installationID = "sample-phone"
  static let environment = "development"

  static func make() throws -> SampleDevice { SampleDevice(token: try newToken(), activityToken: try newToken()) }

  private static func newToken() throws -> String {
    try SecureRandom.bytes(32).map { byte in
      String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }.joined()
  }

  /// Does what the app does when it is opened: tells its token, and starts the activity where none lives.
  mutating func open(app: String, _ client: any RPCCaller) async throws {
    try await register(.device, token, app: app, activityID: "", client)
    let service = ActivitiesServiceClient(client)
    var list = ListActivitiesRequest()
    list.app = app
    list.pageSize = 1000
    let live = try await service.listActivities(list).activities
    let isShown = live.contains { activity in
      if case .unread = activity.driver { true } else { false }
    }
    if isShown { return }
    activityToken = try Self.newToken()
    var start = StartUnreadActivityRequest()
    start.app = app
    start.environment = Self.environment
    start.origin = .local
    start.attributesType = "UnreadAttributes"
    start.installationId = Self.installationID
    guard let started = try await UnreadServiceClient(client).startUnreadActivity(start).activity else {
      throw RPCError(.internalError, "the answer has no activity", reason: "REPLY_INVALID")
    }
    try await register(.activityUpdate, activityToken, app: app, activityID: started.id, client)
  }

  private func register(
    _ kind: PushTokenKind, _ token: String, app: String, activityID: String, _ client: any RPCCaller
  ) async throws {
    var request = RegisterPushTokenRequest()
    request.kind = kind
    request.token = token
    request.app = app
    request.environment = Self.environment
    request.installationId = Self.installationID
    request.activityId = activityID
    _ = try await PushTokensServiceClient(client).registerPushToken(request)
  }
}
