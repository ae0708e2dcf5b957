internal import CampanileAPI
import CampanileBase
internal import CampanileCrypto
internal import CampanileRPC

/// The phone of a sample user, which shows the unread notifications as a Live Activity.
struct SampleDevice: Sendable, Hashable, Codable {
  /// Push token for alerts in hexadecimal digits, like a token from UIKit.
  var token: String
  /// Push token of the Live Activity in hexadecimal digits, like a token from ActivityKit. Each activity has a new one.
  var activityToken: String

  static let installationID = "sample-phone"
  static let environment = "development"

  static func make() throws -> SampleDevice { SampleDevice(token: try newToken(), activityToken: try newToken()) }

  private static func newToken() throws -> String {
    Hexadecimal.text(try SecureRandom.bytes(32))
  }

  /// Does what the app does when it is opened: registers its token, and starts the activity unless one is live.
  mutating func open(app: String, _ client: any RPCCaller) async throws {
    try await register(.device, token, app: app, activityID: "", client)
    let service = ActivitiesServiceClient(client)
    let list = ListActivitiesRequest(pageSize: 1000, app: app)
    let live = try await service.listActivities(list).activities
    let isShown = live.contains { activity in
      if case .unread = activity.driver { true } else { false }
    }
    if isShown { return }
    activityToken = try Self.newToken()
    let start = StartUnreadActivityRequest(
      app: app, environment: Self.environment, origin: .local, attributesType: "UnreadAttributes",
      installationId: Self.installationID)
    guard let started = try await UnreadServiceClient(client).startUnreadActivity(start).activity else {
      throw RPCError(.internalError, "the response has no activity", reason: "REPLY_INVALID")
    }
    try await register(.activityUpdate, activityToken, app: app, activityID: started.id, client)
  }

  private func register(
    _ kind: PushTokenKind, _ token: String, app: String, activityID: String, _ client: any RPCCaller
  ) async throws {
    let request = RegisterPushTokenRequest(
      kind: kind, token: token, app: app, environment: Self.environment, installationId: Self.installationID,
      activityId: activityID)
    _ = try await PushTokensServiceClient(client).registerPushToken(request)
  }
}
