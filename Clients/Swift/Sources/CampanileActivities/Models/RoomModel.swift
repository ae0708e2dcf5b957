public import CampanileClient
public import Foundation
public import Observation

/// A chat room that an activity shows: yellow while it waits for a peer, green while one is connected.
@MainActor @Observable public final class RoomModel {
  public let roomID: String
  /// The state that the user sees; `nil` outside of the room.
  public private(set) var state: RoomContentState?
  /// The id of the room's activity; `nil` if it has none, or if it is unknown.
  public private(set) var activityID: String?
  public private(set) var isStale = true
  public private(set) var error: RPCError?

  @ObservationIgnored private let campanile: Campanile
  @ObservationIgnored private let outbox: Outbox
  @ObservationIgnored private let registrar: RegistrarConfiguration
  @ObservationIgnored private let now: @Sendable () -> Date

  /// - Parameter roomID: 48 lower-case hexadecimal digits.
  public init(
    _ campanile: Campanile, outbox: Outbox, registrar: RegistrarConfiguration, roomID: String,
    now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.campanile = campanile
    self.outbox = outbox
    self.registrar = registrar
    self.roomID = roomID
    self.now = now
  }

  /// Enters the room. Its activity waits for a peer.
  ///
  /// - Parameters:
  ///   - activityID: ActivityKit's id of the activity that the app shows.
  ///   - waitingLimit: The seconds of waiting after which the activity ends; `nil` for no limit.
  public func join(activityID: String, waitingLimit: TimeInterval? = nil) {
    queue(
      RoomsServiceMethods.joinRoom,
      JoinRoomRequest(
        app: registrar.app, environment: registrar.environment.rawValue, roomId: roomID, activityId: activityID,
        origin: .local, waitingLimit: waitingLimit.map { ProtoDuration($0) }, installationId: registrar.installationID))
    self.activityID = activityID
    state = RoomContentState(phase: .waiting, roomId: roomID, lastUpdated: now())
  }

  /// Reports that a peer has connected or disconnected.
  public func peer(isConnected: Bool) {
    queue(
      RoomsServiceMethods.reportPeer,
      ReportPeerRequest(app: registrar.app, roomId: roomID, connected: isConnected))
    guard let state, (state.phase == .connected) != isConnected else { return }
    self.state = RoomContentState(
      phase: isConnected ? .connected : .waiting, roomId: roomID, lastUpdated: now())
  }

  /// Leaves the room and ends its activity.
  public func leave() {
    queue(RoomsServiceMethods.leaveRoom, LeaveRoomRequest(app: registrar.app, roomId: roomID))
    (state, activityID) = (nil, nil)
  }

  /// Follows the room's activity until the task is cancelled: the server ends it, for example, after long waiting.
  public func run() async {
    do {
      for try await event in campanile.activities.watch() {
        switch event {
        case .started, .gap:
          try await load()
          (isStale, error) = (false, nil)
        case .reached: break
        case .change(let change, _): apply(change.activity)
        case .waiting(let cause, _): (isStale, error) = (true, cause)
        }
      }
    } catch is CancellationError {
    } catch {
      self.error = error as? RPCError ?? RPCError(.unknown, "\(error)")
    }
    isStale = true
  }

  /// Finds the room's activity, for example after a relaunch of the app.
  private func load() async throws {
    var request = ListActivitiesRequest(pageSize: 100)
    repeat {
      let page = try await campanile.activities.service.listActivities(request)
      for activity in page.activities {
        guard case .room(let room)? = activity.driver, room.roomId == roomID else { continue }
        return apply(activity)
      }
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty
  }

  private func apply(_ activity: Activity?) {
    guard let activity, case .room(let room)? = activity.driver, room.roomId == roomID,
      !((try? outbox.entries()) ?? []).contains(where: { $0.object == roomID })
    else { return }
    if activity.status == .ended {
      // The end of an earlier activity of the room changes nothing.
      if activityID == nil || activityID == activity.id { (state, activityID) = (nil, nil) }
    } else {
      (state, activityID) = (RoomContentState(room), activity.id)
    }
  }

  private func queue<Q: ProtoMessage>(_ method: MethodDescriptor, _ request: Q) {
    do throws(RPCError) {
      try outbox.add(method, request, object: roomID)
    } catch {
      self.error = error
    }
  }
}
