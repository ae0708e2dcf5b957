public import CampanileClient

extension Campanile {
  public var activities: ActivitiesClients { ActivitiesClients(self) }
}

/// The clients of Activities.
public struct ActivitiesClients: Sendable {
  private let campanile: Campanile
  init(_ campanile: Campanile) { self.campanile = campanile }

  public var service: ActivitiesServiceClient { .init(campanile.caller) }
  public var pushTokens: PushTokensServiceClient { .init(campanile.caller) }
  public var timers: TimersServiceClient { .init(campanile.caller) }
  public var rooms: RoomsServiceClient { .init(campanile.caller) }
  public var unread: UnreadServiceClient { .init(campanile.caller) }
  public var broadcastChannels: BroadcastChannelsServiceClient { .init(campanile.caller) }
  public var debug: ActivityDebugServiceClient { .init(campanile.caller) }

  /// Returns the changes of the user's activities.
  ///
  /// The watch of one activity does not end with the activity: leave the loop after the change that ends it.
  public func watch(
    _ request: WatchActivitiesRequest = .init()
  ) -> Watch<WatchActivitiesRequest, WatchActivitiesResponse> {
    campanile.watch(ActivitiesServiceMethods.watchActivities, request)
  }
}

extension WatchActivitiesRequest: WatchRequest {}
extension WatchActivitiesResponse: WatchResponse {
  public var kind: WatchResponseKind<ActivityChange> {
    switch event {
    case .started: .started
    case .change(let change): .change(change)
    case nil: .unknown
    }
  }
}
