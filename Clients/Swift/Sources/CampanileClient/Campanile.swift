public import CampanileCall
public import CampanileMessages
public import Foundation

/// A gateway of Campanile, as an app sees it: the clients of its services, and their watches.
///
/// ```swift
/// let campanile = Campanile(URL(string: "https://api.example")!, credentials: FixedCredential(key: key))
/// let buckets = try await campanile.notifications.service.listBuckets(.init()).buckets
/// for try await event in campanile.notifications.watch() { … }
/// ```
public struct Campanile: Sendable {
  /// The transport, for clients of other services and for an `Outbox`.
  public let caller: HTTPCaller
  /// The gateway's address.
  public var url: URL { caller.url }
  /// Ends the pauses of watches early: notify it once the network is back.
  public let reconnect: ReconnectSignal
  private let watching: WatchConfiguration

  /// - Parameters:
  ///   - url: The gateway's address, such as `https://api.example`.
  ///   - credentials: `FixedCredential` for an API key; `StoredCredentials` for a credential that is renewed.
  public init(
    _ url: URL, credentials: any CredentialSource = NoCredentials(), configuration: HTTPCallerConfiguration = .init(),
    watching: WatchConfiguration = .init(), environment: ClientEnvironment = .system,
    reconnect: ReconnectSignal = .init()
  ) {
    caller = HTTPCaller(url, credentials: credentials, configuration: configuration, environment: environment)
    self.reconnect = reconnect
    self.watching = watching
  }

  public var notifications: NotificationsClients { NotificationsClients(self) }
  public var activities: ActivitiesClients { ActivitiesClients(self) }
  public var sync: SyncClients { SyncClients(self) }
  public var attendance: AttendanceClients { AttendanceClients(self) }

  /// Returns the events of a watch method.
  public func watch<Request: WatchRequest, Response: WatchResponse>(
    _ method: MethodDescriptor, _ request: Request, as response: Response.Type = Response.self
  ) -> Watch<Request, Response> {
    Watch(
      method, request, caller: caller, configuration: watching, environment: caller.environment, reconnect: reconnect)
  }
}

/// The clients of Notifications.
public struct NotificationsClients: Sendable {
  private let campanile: Campanile
  init(_ campanile: Campanile) { self.campanile = campanile }

  public var service: NotificationsServiceClient { .init(campanile.caller) }
  public var sharing: SharingServiceClient { .init(campanile.caller) }
  public var automation: AutomationServiceClient { .init(campanile.caller) }
  public var transfer: TransferServiceClient { .init(campanile.caller) }

  /// Returns the changes of the user's buckets and notifications.
  public func watch(
    _ request: WatchNotificationsRequest = .init()
  ) -> Watch<WatchNotificationsRequest, WatchNotificationsResponse> {
    campanile.watch(NotificationsServiceMethods.watchNotifications, request)
  }
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

/// The clients of Sync.
public struct SyncClients: Sendable {
  private let campanile: Campanile
  init(_ campanile: Campanile) { self.campanile = campanile }

  public var assets: AssetsServiceClient { .init(campanile.caller) }
  public var zones: ZonesServiceClient { .init(campanile.caller) }
  public var devices: DevicesServiceClient { .init(campanile.caller) }

  /// Returns the commits of a zone.
  public func watchZone(
    _ request: WatchZoneChangesRequest
  ) -> Watch<WatchZoneChangesRequest, WatchZoneChangesResponse> {
    campanile.watch(ZonesServiceMethods.watchZoneChanges, request)
  }

  /// Returns the messages to a device.
  public func watchUpdates(_ request: WatchUpdatesRequest) -> Watch<WatchUpdatesRequest, WatchUpdatesResponse> {
    campanile.watch(DevicesServiceMethods.watchUpdates, request)
  }
}

/// The clients of Attendance.
public struct AttendanceClients: Sendable {
  private let campanile: Campanile
  init(_ campanile: Campanile) { self.campanile = campanile }

  public var service: AttendanceServiceClient { .init(campanile.caller) }
  public var lodge: LodgeServiceClient { .init(campanile.caller) }
  public var meetings: MeetingsServiceClient { .init(campanile.caller) }
  public var members: MembersServiceClient { .init(campanile.caller) }
  public var sessions: SessionsServiceClient { .init(campanile.caller) }
  public var statistics: StatisticsServiceClient { .init(campanile.caller) }

  /// Returns the changes of the lodge's roster.
  public func watch(
    _ request: WatchRosterChangesRequest = .init()
  ) -> Watch<WatchRosterChangesRequest, WatchRosterChangesResponse> {
    campanile.watch(AttendanceServiceMethods.watchRosterChanges, request)
  }
}
