public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Implements `campanile.activities.v1.RoomsService`: activities whose state follows a chat room. Every object belongs
/// to the calling user.
public struct RoomsService: RoomsServiceProtocol {
  let repository: any ActivitiesRepository
  let policy: ActivitiesPolicy

  public func joinRoom(_ request: JoinRoomRequest, context: CallContext) async throws -> JoinRoomResponse {
    let user = try context.requireUser()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: RoomsServiceMethods.joinRoom, user: user)
    let driver = RoomDriver(repository: repository, policy: policy)
    return JoinRoomResponse(
      activity: try await driver.join(request, user: user, context: context, idempotency: idempotency))
  }

  public func reportPeer(_ request: ReportPeerRequest, context: CallContext) async throws -> ReportPeerResponse {
    let event: RoomMachine.Event = request.connected ? .peerConnected : .peerDisconnected
    return ReportPeerResponse(
      activity: try await handle(event, request, app: request.app, roomID: request.roomId, context).first?.message)
  }

  public func leaveRoom(_ request: LeaveRoomRequest, context: CallContext) async throws -> LeaveRoomResponse {
    LeaveRoomResponse(
      activity: try await handle(.leave, request, app: request.app, roomID: request.roomId, context).first?.message)
  }

  public func disconnectRooms(
    _ request: DisconnectRoomsRequest, context: CallContext
  ) async throws -> DisconnectRoomsResponse {
    DisconnectRoomsResponse(
      endedCount: Int32(clamping: try await handle(.leave, request, app: request.app, roomID: nil, context).count))
  }

  private func handle(
    _ event: RoomMachine.Event, _ request: some ValidatedMessage, app: String, roomID: String?, _ context: CallContext
  ) async throws -> [StoredActivity] {
    let user = try context.requireUser()
    var violations = Violations()
    request.validate(into: &violations)
    ActivityRules.app(app, "app", &violations)
    try violations.check()
    return try await RoomDriver(repository: repository, policy: policy).handle(
      event, app: app, roomID: roomID, user: user, traceParent: context.traceParent)
  }
}

/// Room operations shared by `RoomsService` and the debug controls.
struct RoomDriver: Sendable {
  let repository: any ActivitiesRepository
  let policy: ActivitiesPolicy

  func join(
    _ request: JoinRoomRequest, user: String, context: CallContext, idempotency: IdempotentRequest?
  ) async throws -> Activity {
    var attributes = request.attributes
    if attributes == nil { attributes = ProtoStruct(verified: "{\"roomId\":\"\(request.roomId)\"}") }
    let common = StartRules.Common(
      id: request.activityId, app: request.app, environment: request.environment, origin: request.origin,
      attributesType: request.attributesType, attributes: attributes, alert: request.alert,
      installationID: request.installationId)
    var violations = Violations()
    request.validate(into: &violations)
    StartRules.check(common, policy, &violations)
    try violations.check()
    let machine = RoomMachine(
      roomID: request.roomId, waitingMinutesMax: request.waitingMinutesMax, atMs: repository.clockMs())
    let content = ProtoStruct(verified: machine.content(policy.dates(of: request.app)))
    var draft = try StartRules.draft(common, content: content, context: context, policy: policy)
    draft.driver = .room(machine.state)
    return try await repository.start(draft, user: user, idempotency: idempotency)
  }

  /// Applies an event to the activity of a room; nil for `roomID` selects all of the app's rooms.
  ///
  /// - Returns: The activities of the rooms; empty if there are none.
  func handle(
    _ event: RoomMachine.Event, app: String, roomID: String?, user: String, traceParent: String?
  ) async throws -> [StoredActivity] {
    let policy = policy
    return try await repository.changeDriven(.room, app: app, subject: roomID, user: user) { activity, nowMs in
      guard case .room(let state) = activity.driver else { return nil }
      var machine = RoomMachine(state)
      let action = machine.handle(event, atMs: nowMs)
      let content = machine.content(policy.dates(of: activity.app))
      var change = ActivityChange(action, driver: .room(machine.state), content: content)
      change?.traceParent = traceParent
      return change
    }
  }
}
