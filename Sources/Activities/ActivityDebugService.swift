public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Implements `campanile.activities.v1.ActivityDebugService`: debug controls for any user. Requires the scope `admin`.
public struct ActivityDebugService: ActivityDebugServiceProtocol {
  /// A room id of 48 digits that no client chooses.
  static let testRoomID = String(repeating: "0", count: 48)

  let repository: any ActivitiesRepository
  let policy: ActivitiesPolicy

  public func getActivityStatus(
    _ request: GetActivityStatusRequest, context: CallContext
  ) async throws -> GetActivityStatusResponse {
    try Self.check(context, request, app: request.app)
    return try repository.status(app: request.app, user: request.userId)
  }

  public func testStart(_ request: TestStartRequest, context: CallContext) async throws -> TestStartResponse {
    try Self.check(context, request, app: request.app)
    var join = JoinRoomRequest(
      app: request.app, environment: request.environment, roomId: Self.testRoomID, origin: request.origin,
      attributesType: "ConnectionActivityAttributes")
    let alert = Alert(title: RoomMachine.Phase.waiting.title, body: "Test")
    join.alert = alert
    return TestStartResponse(
      activity: try await rooms.join(join, user: request.userId, context: context, idempotency: nil))
  }

  public func testToConnected(
    _ request: TestToConnectedRequest, context: CallContext
  ) async throws -> TestToConnectedResponse {
    try Self.check(context, request, app: request.app)
    return TestToConnectedResponse(activity: try await handle(.peerConnected, request.userId, request.app, context))
  }

  public func testToWaiting(
    _ request: TestToWaitingRequest, context: CallContext
  ) async throws -> TestToWaitingResponse {
    try Self.check(context, request, app: request.app)
    return TestToWaitingResponse(activity: try await handle(.peerDisconnected, request.userId, request.app, context))
  }

  public func testEnd(_ request: TestEndRequest, context: CallContext) async throws -> TestEndResponse {
    try Self.check(context, request, app: request.app)
    return TestEndResponse(activity: try await handle(.leave, request.userId, request.app, context))
  }

  public func endAllActivities(
    _ request: EndAllActivitiesRequest, context: CallContext
  ) async throws -> EndAllActivitiesResponse {
    try context.requireAdmin()
    try request.checkConstraints()
    return EndAllActivitiesResponse(endedCount: Int32(clamping: try await repository.endAll(user: request.userId)))
  }

  private var rooms: RoomDriver { RoomDriver(repository: repository, policy: policy) }

  /// Applies an event to the test room. Unlike the calls for real rooms, throws NOT_FOUND if there is no activity.
  private func handle(
    _ event: RoomMachine.Event, _ user: String, _ app: String, _ context: CallContext
  ) async throws -> Activity {
    let changed = try await rooms.handle(
      event, app: app, roomID: Self.testRoomID, user: user, traceParent: context.traceParent)
    guard let activity = changed.first else { throw RPCError.activityNotFound("test", field: "userId") }
    return activity.message
  }

  private static func check(
    _ context: CallContext, _ request: some ValidatedMessage, app: String
  ) throws(RPCError) {
    try context.requireAdmin()
    var violations = Violations()
    request.validate(into: &violations)
    ActivityRules.app(app, "app", &violations)
    try violations.check()
  }
}
