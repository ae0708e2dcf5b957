public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService
import CampanileStore

/// Implements `campanile.activities.v1.RoomsService`: activities whose state follows a chat room. Every object belongs
/// to the calling user.
public struct RoomsService: RoomsServiceProtocol {
  let repository: any ActivitiesRepository
  let policy: ActivitiesPolicy

  public func joinRoom(_ request: JoinRoomRequest, context: CallContext) async throws -> JoinRoomResponse {
    let user = try context.requireUser()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: RoomsServiceMethods.joinRoom, user: user)
    return JoinRoomResponse(
      activity: try await driver.join(request, user: user, context: context, idempotency: idempotency))
  }

  public func reportPeer(_ request: ReportPeerRequest, context: CallContext) async throws -> ReportPeerResponse {
    let user = try check(request, app: request.app, context) { violations in
      ActivityRules.alert(request.alert, "alert", &violations)
    }
    return try await driver.handle(
      request.connected ? .peerConnected : .peerDisconnected, app: request.app, roomID: request.roomId,
      alert: request.alert, user: user, context: context, idempotency: nil
    ) { ReportPeerResponse(activity: $0.first?.message) }
  }

  public func leaveRoom(_ request: LeaveRoomRequest, context: CallContext) async throws -> LeaveRoomResponse {
    let user = try check(request, app: request.app, context)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: RoomsServiceMethods.leaveRoom, user: user)
    return try await driver.handle(
      .leave, app: request.app, roomID: request.roomId, user: user, context: context, idempotency: idempotency
    ) { LeaveRoomResponse(activity: $0.first?.message) }
  }

  public func disconnectRooms(
    _ request: DisconnectRoomsRequest, context: CallContext
  ) async throws -> DisconnectRoomsResponse {
    let user = try check(request, app: request.app, context)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: RoomsServiceMethods.disconnectRooms, user: user)
    return try await driver.handle(
      .leave, app: request.app, roomID: nil, user: user, context: context, idempotency: idempotency
    ) { DisconnectRoomsResponse(endedCount: Int32(clamping: $0.count)) }
  }

  private var driver: RoomDriver { RoomDriver(repository: repository, policy: policy) }

  /// Validates a request and returns the calling user.
  private func check(
    _ request: some ValidatedMessage, app: String, _ context: CallContext, _ more: (inout Violations) -> Void = { _ in }
  ) throws(RPCError) -> String {
    let user = try context.requireUser()
    var violations = Violations()
    request.validate(into: &violations)
    ActivityRules.app(app, "app", &violations)
    more(&violations)
    try violations.check()
    return user
  }
}

/// Room operations shared by `RoomsService` and the debug controls.
struct RoomDriver: Sendable {
  let repository: any ActivitiesRepository
  let policy: ActivitiesPolicy

  func join(
    _ request: JoinRoomRequest, user: String, context: CallContext, idempotency: IdempotentRequest?
  ) async throws -> Activity {
    let attributes = request.attributesJson.isEmpty ? "{\"roomId\":\"\(request.roomId)\"}" : request.attributesJson
    let common = StartRules.Common(
      id: request.activityId, app: request.app, environment: request.environment, origin: request.origin,
      attributesType: request.attributesType, attributes: attributes, alert: request.alert,
      installationID: request.installationId, staleTime: request.staleTime, relevanceScore: request.relevanceScore)
    return try await repository.start(user: user, idempotency: idempotency) {
      var violations = Violations()
      request.validate(into: &violations)
      StartRules.check(common, policy, &violations)
      ActivityRules.url(request.url, "url", &violations)
      try violations.check()
      let machine = RoomMachine(
        roomID: request.roomId, waitingLimit: request.waitingLimit, url: request.url, atMs: repository.clockMs())
      let content = machine.content(policy.dates(of: request.app))
      var draft = try StartRules.draft(common, content: content, context: context, policy: policy)
      draft.driver = .room(machine.state)
      return draft
    }
  }

  /// Applies an event to the activity of a room; nil for `roomID` selects all of the app's rooms.
  ///
  /// - Parameters:
  ///   - alert: Shown with the change, if there is one.
  ///   - respond: Creates the response from the activities of the rooms; empty if there are none.
  func handle<Response: ProtoMessage>(
    _ event: RoomMachine.Event, app: String, roomID: String?, alert: Alert? = nil, user: String, context: CallContext,
    idempotency: IdempotentRequest?, _ respond: @escaping @Sendable ([StoredActivity]) throws -> Response
  ) async throws -> Response {
    let policy = policy
    let traceParent = context.traceParent
    return try await repository.changeDriven(
      .room, app: app, subject: roomID, user: user, idempotency: idempotency,
      { activity, nowMs in
        guard case .room(let state) = activity.driver else { return nil }
        var machine = RoomMachine(state)
        let action = machine.handle(event, atMs: nowMs)
        let content = machine.content(policy.dates(of: activity.app))
        var change = StateChange(action, driver: .room(machine.state), content: content)
        change?.alert = alert
        change?.traceParent = traceParent
        return change
      }, respond: respond)
  }
}
