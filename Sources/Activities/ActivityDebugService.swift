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
    return try await repository.status(app: request.app, user: request.userId)
  }

  public func testStart(_ request: TestStartRequest, context: CallContext) async throws -> TestStartResponse {
    try Self.check(context, request, app: request.app)
    var join = JoinRoomRequest(
      app: request.app, environment: request.environment, roomId: Self.testRoomID, origin: request.origin,
      attributesType: "ConnectionActivityAttributes")
    let alert = Alert(title: RoomPhase.waiting.title, body: "Test")
    join.alert = alert
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: ActivityDebugServiceMethods.testStart, user: context.operatorName)
    return TestStartResponse(
      activity: try await rooms.join(join, user: request.userId, context: context, idempotency: idempotency))
  }

  public func testToConnected(
    _ request: TestToConnectedRequest, context: CallContext
  ) async throws -> TestToConnectedResponse {
    try Self.check(context, request, app: request.app)
    return try await handle(.peerConnected, request.userId, request.app, context) { .init(activity: $0) }
  }

  public func testToWaiting(
    _ request: TestToWaitingRequest, context: CallContext
  ) async throws -> TestToWaitingResponse {
    try Self.check(context, request, app: request.app)
    return try await handle(.peerDisconnected, request.userId, request.app, context) { .init(activity: $0) }
  }

  public func testEnd(_ request: TestEndRequest, context: CallContext) async throws -> TestEndResponse {
    try Self.check(context, request, app: request.app)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: ActivityDebugServiceMethods.testEnd, user: context.operatorName)
    return try await handle(.leave, request.userId, request.app, context, idempotency) { .init(activity: $0) }
  }

  public func endAllActivities(
    _ request: EndAllActivitiesRequest, context: CallContext
  ) async throws -> EndAllActivitiesResponse {
    try context.requireAdmin()
    try request.checkConstraints()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: ActivityDebugServiceMethods.endAllActivities, user: context.operatorName)
    return try await repository.endAll(user: request.userId, idempotency: idempotency)
  }

  private var rooms: RoomDriver { RoomDriver(repository: repository, policy: policy) }

  /// Applies an event to the test room. Unlike the calls for real rooms, throws NOT_FOUND if there is no activity.
  private func handle<Response: ProtoMessage>(
    _ event: RoomMachine.Event, _ user: String, _ app: String, _ context: CallContext,
    _ idempotency: IdempotentRequest? = nil, _ respond: @escaping @Sendable (Activity) -> Response
  ) async throws -> Response {
    try await rooms.handle(
      event, app: app, roomID: Self.testRoomID, user: user, context: context, idempotency: idempotency
    ) { activities in
      guard let activity = activities.first else { throw RPCError.activityNotFound("test", field: "userId") }
      return respond(activity.message)
    }
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

extension CallContext {
  /// The name of an operator or service, which scopes the request ids of calls that belong to no user.
  var operatorName: String { principal?.name ?? "" }
}
