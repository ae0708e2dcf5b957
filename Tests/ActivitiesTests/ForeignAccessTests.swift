import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import Testing

@testable import Activities

/// Every method called with the ids of another user fails exactly as for ids that do not exist.
@Suite struct ForeignAccessTests {
  private typealias Call = @Sendable (ActivitiesComponent, _ id: String, CallContext) async throws -> Void

  /// A method and its call with an id.
  private struct Case: Sendable {
    var method: MethodDescriptor
    /// Whether `id` is a token's.
    var isToken = false
    var call: Call
  }

  private static let byActivity: [Case] = [
    Case(method: ActivitiesServiceMethods.updateActivity) { component, id, context in
      _ = try await component.update(id, "{}", context)
    },
    Case(method: ActivitiesServiceMethods.batchUpdateActivities) { component, id, context in
      let request = BatchUpdateActivitiesRequest(requests: [try update(id, "{}")])
      let results = try await component.activities.batchUpdateActivities(request, context: context).results
      guard case .error(let error)? = results[0].outcome else { return }
      throw RPCError(
        .notFound, error.message, reason: error.reason, errorMetadata: ["field": error.violations.map(\.field).joined()]
      )
    },
    Case(method: ActivitiesServiceMethods.endActivity) { component, id, context in
      _ = try await component.end(id, context)
    },
    Case(method: ActivitiesServiceMethods.setActivityPushes) { component, id, context in
      _ = try await component.activities.setActivityPushes(.init(activityId: id), context: context)
    },
    Case(method: ActivitiesServiceMethods.getActivity) { component, id, context in
      _ = try await component.get(id, context)
    },
    Case(method: ActivitiesServiceMethods.listActivityChanges) { component, id, context in
      _ = try await component.activities.listActivityChanges(.init(activityId: id), context: context)
    },
    Case(method: ActivitiesServiceMethods.watchActivities) { component, id, context in
      let request = WatchActivitiesRequest(activityId: id)
      try await component.activities.watch.run(request, user: try context.requireUser()) { _ in }
    },
    Case(method: PushTokensServiceMethods.registerPushToken) { component, id, context in
      try await component.register(token(.activityUpdate, hex(77), activity: id), context)
    },
    Case(method: PushTokensServiceMethods.getActivityPushToken) { component, id, context in
      _ = try await component.tokens.getActivityPushToken(.init(activityId: id), context: context)
    },
    Case(method: PushTokensServiceMethods.getPushToken, isToken: true) { component, id, context in
      _ = try await component.tokens.getPushToken(.init(tokenId: id), context: context)
    },
    Case(method: TimersServiceMethods.pauseTimer) { component, id, context in
      _ = try await component.timers.pauseTimer(.init(activityId: id), context: context)
    },
    Case(method: TimersServiceMethods.resumeTimer) { component, id, context in
      _ = try await component.timers.resumeTimer(.init(activityId: id), context: context)
    },
    Case(method: TimersServiceMethods.stopTimer) { component, id, context in
      _ = try await component.timers.stopTimer(.init(activityId: id), context: context)
    },
    Case(method: TimersServiceMethods.completeTimer) { component, id, context in
      _ = try await component.timers.completeTimer(.init(activityId: id), context: context)
    },
  ]

  /// Methods that name no object of a user, or for which a missing object is not an error.
  private static let withoutID: [Case] = [
    Case(method: ActivitiesServiceMethods.startActivity) { component, id, context in
      _ = try await component.start(local(id), context)
    },
    Case(method: ActivitiesServiceMethods.listActivities) { component, _, context in
      _ = try await component.activities.listActivities(.init(), context: context)
    },
    Case(method: PushTokensServiceMethods.updateInstallation) { component, _, context in
      _ = try await component.tokens.updateInstallation(
        .init(app: app, installationId: "phone", frequentPushesEnabled: true), context: context)
    },
    Case(method: PushTokensServiceMethods.listPushTokens) { component, _, context in
      _ = try await component.tokens.listPushTokens(.init(), context: context)
    },
    Case(method: PushTokensServiceMethods.deletePushToken, isToken: true) { component, id, context in
      _ = try await component.tokens.deletePushToken(.init(tokenId: id), context: context)
    },
    Case(method: TimersServiceMethods.startTimer) { component, id, context in
      let request = StartTimerRequest(
        activityId: id, app: app, environment: "development", origin: .local, sessionType: .single,
        duration: .init(seconds: 60))
      _ = try await component.timers.startTimer(request, context: context)
    },
    Case(method: RoomsServiceMethods.joinRoom) { component, id, context in
      let request = JoinRoomRequest(app: app, environment: "development", roomId: room, activityId: id, origin: .local)
      _ = try await component.rooms.joinRoom(request, context: context)
    },
    Case(method: RoomsServiceMethods.reportPeer) { component, _, context in
      _ = try await component.rooms.reportPeer(.init(app: app, roomId: room, connected: true), context: context)
    },
    Case(method: RoomsServiceMethods.leaveRoom) { component, _, context in
      _ = try await component.rooms.leaveRoom(.init(app: app, roomId: room), context: context)
    },
    Case(method: RoomsServiceMethods.disconnectRooms) { component, _, context in
      _ = try await component.rooms.disconnectRooms(.init(app: app), context: context)
    },
    Case(method: UnreadServiceMethods.startUnreadActivity) { component, id, context in
      let request = StartUnreadActivityRequest(activityId: id, app: app, environment: "development", origin: .local)
      _ = try await component.unread.startUnreadActivity(request, context: context)
    },
  ]

  private static let room = String(repeating: "5e", count: 24)

  @Test func foreignAndMissingLookTheSame() async throws {
    let component = try await Fixture().open()
    let own = try await component.start(local(), anna)
    let token = try await component.register(token(.activityUpdate, hex(1), activity: own.id), anna)
    for one in Self.byActivity {
      let id = one.isToken ? token.id : own.id
      try await expectLooksMissing(id, "\(one.method.name)") { try await one.call(component, $0, bruno) }
    }
    #expect(try await component.get(own.id, anna).etag == own.etag)
    #expect(try component.queued().isEmpty)
    await component.close()
  }

  @Test func otherUsersChangeNothing() async throws {
    let component = try await Fixture().open()
    let join = JoinRoomRequest(
      app: app, environment: "development", roomId: Self.room, activityId: "mine", origin: .local)
    _ = try await component.rooms.joinRoom(join, context: anna)
    let registered = try await component.register(token(.activityUpdate, hex(1), activity: "mine"), anna)
    let before = try await component.get("mine", anna)
    for one in Self.withoutID {
      _ = await failure { try await one.call(component, one.isToken ? registered.id : "mine", bruno) }
    }
    #expect(try await component.get("mine", anna) == before)
    #expect(try await component.tokens.listPushTokens(.init(), context: anna).tokens == [registered])
    #expect(try component.queued().isEmpty)
    await component.close()
  }

  private static let operators: [Case] = [
    Case(method: UnreadServiceMethods.putUnreadSummary) { component, _, context in
      _ = try await component.unread.putUnreadSummary(.init(), context: context)
    },
    Case(method: UnreadServiceMethods.sendAlert) { component, _, context in
      _ = try await component.unread.sendAlert(.init(), context: context)
    },
    Case(method: ActivityDebugServiceMethods.getActivityStatus) { component, _, context in
      _ = try await component.debugging.getActivityStatus(.init(), context: context)
    },
    Case(method: ActivityDebugServiceMethods.testStart) { component, _, context in
      _ = try await component.debugging.testStart(.init(), context: context)
    },
    Case(method: ActivityDebugServiceMethods.testToConnected) { component, _, context in
      _ = try await component.debugging.testToConnected(.init(), context: context)
    },
    Case(method: ActivityDebugServiceMethods.testToWaiting) { component, _, context in
      _ = try await component.debugging.testToWaiting(.init(), context: context)
    },
    Case(method: ActivityDebugServiceMethods.testEnd) { component, _, context in
      _ = try await component.debugging.testEnd(.init(), context: context)
    },
    Case(method: ActivityDebugServiceMethods.endAllActivities) { component, _, context in
      _ = try await component.debugging.endAllActivities(.init(), context: context)
    },
  ]

  @Test func operatorMethodsRejectUsers() async throws {
    let component = try await Fixture().open()
    for one in Self.operators {
      let error = await failure { try await one.call(component, "", anna) }
      #expect(error?.code == .permissionDenied, "\(one.method.name)")
      #expect(await failure { try await one.call(component, "", admin) }?.code == .invalidArgument)
    }
    var request = try local("c")
    request.channelId = "Y2hhbm5lbA=="
    let asked = request
    #expect(await failure { try await component.start(asked, anna) }?.code == .permissionDenied)
    #expect(await failure { try await component.start(asked, admin) } == nil)
    request.channelId = unknownChannel
    let unknown = request
    #expect(await failure { try await component.start(unknown, admin) }?.reason == "CHANNEL_NOT_FOUND")
    await component.close()
  }

  @Test("a service without the scope activities:operate sends no alerts")
  func operateIsNotImplied() async throws {
    let component = try await Fixture().open()
    for one in Self.operators {
      for scopes in [[], ["activities:write"], ["notifications:operate"]] {
        let error = await failure { try await one.call(component, "x", serviceContext(scopes: scopes)) }
        #expect(error?.code == .permissionDenied && error?.reason == "SCOPE_MISSING", "\(one.method.name)")
      }
    }
    await component.close()
  }

  @Test func everyMethodNeedsAUser() async throws {
    let component = try await Fixture().open()
    for one in Self.byActivity + Self.withoutID + Self.operators {
      let error = await failure { try await one.call(component, "x", nobody) }
      #expect(error?.code == .unauthenticated, "\(one.method.name)")
    }
    for one in Self.byActivity + Self.withoutID {
      let error = await failure { try await one.call(component, "x", program) }
      #expect(error?.code == .permissionDenied, "\(one.method.name)")
    }
    await component.close()
  }

  @Test func everyMethodIsCovered() {
    let covered = Set((Self.byActivity + Self.withoutID + Self.operators).map(\.method.path))
    let all =
      ActivitiesServiceMethods.all + PushTokensServiceMethods.all + TimersServiceMethods.all + RoomsServiceMethods.all
      + UnreadServiceMethods.all + ActivityDebugServiceMethods.all
    #expect(covered == Set(all.map(\.path)))
  }
}
