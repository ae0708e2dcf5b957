import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import NIOPosix
import ServiceTesting
import TestSupport
import Testing

@testable import Activities

/// A component with its own database and a clock that the test advances. Nothing is sent: pushes stay in the queue.
final class Fixture: Sendable {
  static let startMs: Int64 = 1_770_000_000_000
  let folder: TemporaryFolder
  let clock = TestClock(Fixture.startMs)
  let limits: ActivitiesLimits

  init(_ limits: ActivitiesLimits = ActivitiesLimits()) throws {
    self.limits = limits
    folder = try TemporaryFolder()
  }

  func open(
    dates: [String: ContentDates] = [:], queuedMax: Int64? = nil, sender: (any PushSending)? = nil
  ) async throws -> ActivitiesComponent {
    var configuration = ActivitiesConfiguration(
      store: try TestStore.configuration(folder.file("activities.sqlite")), addedKeysDirectory: folder.file("keys"))
    configuration.limits = limits
    configuration.contentDates = dates
    configuration.criticalAlertApps = [app]
    if let queuedMax { configuration.delivery.limits.queuedMax = queuedMax }
    return try await ActivitiesComponent(
      configuration, group: MultiThreadedEventLoopGroup.singleton,
      environment: .init(nowMs: { self.clock.nowMs }, steadyMs: { self.clock.nowMs }),
      sender: sender, canSign: { app, _ in app != "com.example.unsigned" },
      checkChannel: { _, _, id in
        if id == unknownChannel { throw RPCError.missing("channel", id, field: "channelId", .channelNotFound) }
      })
  }

}

/// A channel that APNs does not know.
let unknownChannel = "bm9uZQ=="

/// A push in the queue.
struct QueuedPush: Sendable, Hashable {
  var kind: PushKind
  var target: String
  var priority: Int64
  var payload: String
  var pushType: String

  /// `aps.timestamp`.
  var timestamp: Int64? {
    payload.firstRange(of: "\"timestamp\":").flatMap { range in
      Int64(payload[range.upperBound...].prefix { $0.isNumber })
    }
  }
}

extension ActivitiesComponent {
  /// Returns the queued pushes, sorted by id.
  func queued() throws -> [QueuedPush] {
    try store.readSingleBlocking { transaction in
      try transaction.query("SELECT kind, target_id, priority, payload, push_type FROM pushes ORDER BY apns_id") {
        row in
        QueuedPush(
          kind: try #require(PushKind(rawValue: try row.integer(0))), target: try row.text(1),
          priority: try row.integer(2), payload: String(decoding: try row.bytes(3), as: UTF8.self),
          pushType: try row.text(4))
      }
    }
  }

  /// Empties the queue, as if every push had been sent, and returns the pushes.
  func sendAll() async throws -> [QueuedPush] {
    let sent = try queued()
    try await store.write { try $0.execute("DELETE FROM pushes") }
    return sent
  }

  func runDueTimers() async throws {
    // Bounded, because tests set few timers.
    for _ in 0..<20 { if try await timerLoop.runDue() == 0 { break } }
  }
}

/// The context of a service of the suite in methods with the scope `activities:operate`.
let program = serviceContext(scopes: ["activities:operate"])

func serviceContext(scopes: [String]) -> CallContext {
  var method = anyMethod
  method.scope = "activities:operate"
  return CallContext(method: method, principal: Principal(kind: .service, id: "notifications", scopes: scopes))
}

let app = "com.example.growth"

/// Returns a text that is checked to be a JSON object.
func object(_ json: String) throws -> String { try ProtoStruct(json: json).json }

func alert() -> Alert {
  Alert(title: "Title", body: "Body")
}

/// Returns a local start.
func local(_ id: String = "", state: String = #"{"n":0}"#) throws -> StartActivityRequest {
  StartActivityRequest(
    activityId: id, app: app, environment: "development", origin: .local, contentStateJson: try object(state))
}

/// Returns a remote start with all required fields.
func remote(_ id: String = "", state: String = #"{"n":0}"#) throws -> StartActivityRequest {
  var request = try local(id, state: state)
  request.origin = .remote
  request.attributesType = "TimerActivityAttributes"
  request.attributesJson = try object(#"{"methodId":"m1"}"#)
  request.alert = alert()
  return request
}

func update(_ id: String, _ state: String) throws -> UpdateActivityRequest {
  UpdateActivityRequest(activityId: id, contentStateJson: try object(state))
}

func token(_ kind: PushTokenKind, _ hex: String, activity: String = "", installation: String = "phone")
  -> RegisterPushTokenRequest
{
  RegisterPushTokenRequest(
    kind: kind, token: hex, app: app, environment: "development", installationId: installation, activityId: activity)
}

/// Returns a number as the hexadecimal digits of 32 bytes.
func hex(_ number: Int) -> String {
  let digits = String(number, radix: 16)
  return String(repeating: "0", count: 64 - digits.count) + digits
}

extension ActivitiesComponent {
  func start(_ request: StartActivityRequest, _ context: CallContext) async throws -> Activity {
    try #require(try await activities.startActivity(request, context: context).activity)
  }

  func update(_ id: String, _ state: String, _ context: CallContext) async throws -> Activity {
    try #require(
      try await activities.updateActivity(ActivitiesTests.update(id, state), context: context).activity)
  }

  func end(_ id: String, _ context: CallContext) async throws -> Activity {
    try #require(try await activities.endActivity(.init(activityId: id), context: context).activity)
  }

  func get(_ id: String, _ context: CallContext) async throws -> Activity {
    try #require(try await activities.getActivity(.init(activityId: id), context: context).activity)
  }

  @discardableResult
  func register(_ request: RegisterPushTokenRequest, _ context: CallContext) async throws -> PushToken {
    try #require(try await tokens.registerPushToken(request, context: context).token)
  }
}

extension Activity {
  var timer: TimerState? {
    if case .timer(let state)? = driver { return state }
    return nil
  }

  var room: RoomState? {
    guard case .room(let state) = driver else { return nil }
    return state
  }

  var unread: UnreadState? {
    guard case .unread(let state) = driver else { return nil }
    return state
  }
}
