public import CampanileClient
public import Foundation

/// Registers the tokens of an app's device and Live Activities.
///
/// ```swift
/// let registrar = LiveActivityRegistrar(.init(app: "com.example.growth", installationID: id), outbox: outbox)
/// registrar.follow(TimerActivityAttributes.self)
/// ```
///
/// - Each token is stored in the outbox first, so that none is lost while there is no network, or if the app ends.
/// - A token follows the start of its activity: both belong to the outbox's object with the activity's id.
/// - A late registration does not replace a newer token, because each carries the time at which the device received it.
/// - An activity that the user removes from the Lock Screen is ended.
///
/// `Outbox.run(through:)` sends what waits. Safe from any thread.
public final class LiveActivityRegistrar: Sendable {
  public let configuration: RegistrarConfiguration
  private let outbox: Outbox
  private let environment: ClientEnvironment
  private let registry: Locked<TokenRegistry>
  /// Receives errors of the disk. The next token or launch tries again.
  private let failed: @Sendable (RPCError) -> Void
  let tasks = TaskBag()

  public init(
    _ configuration: RegistrarConfiguration, outbox: Outbox, environment: ClientEnvironment = .system,
    failed: @escaping @Sendable (RPCError) -> Void = { _ in }
  ) {
    self.configuration = configuration
    self.outbox = outbox
    self.environment = environment
    self.failed = failed
    var registry = TokenRegistry(configuration)
    // Registrations of an earlier run that were not sent yet.
    for entry in (try? outbox.entries()) ?? [] {
      if let request: RegisterPushTokenRequest = entry.request(of: PushTokensServiceMethods.registerPushToken) {
        registry.waits(request)
      }
    }
    self.registry = Locked(registry)
  }

  deinit { tasks.cancel() }

  /// Registers the token for alerts: that of `didRegisterForRemoteNotificationsWithDeviceToken`.
  public func deviceToken(_ token: Data) { register([UInt8](token), .device) }

  /// Registers a token with which activities of a type can be started.
  public func pushToStartToken(_ token: Data, attributesType: String) {
    register([UInt8](token), .pushToStart(attributesType))
  }

  /// Registers the token of an activity.
  public func updateToken(_ token: Data, activityID: String) { register([UInt8](token), .update(activityID)) }

  /// Ends an activity that the user has removed from the Lock Screen, or that the app has ended itself.
  public func activityDisappeared(_ activityID: String) {
    guard let request = registry.withLock({ $0.disappeared(activityID) }) else { return }
    add(ActivitiesServiceMethods.endActivity, request, object: activityID) {}
  }

  /// Reports whether the user allows frequent updates.
  public func frequentPushes(isEnabled: Bool) {
    guard let request = registry.withLock({ $0.frequentPushes(isEnabled) }) else { return }
    add(PushTokensServiceMethods.updateInstallation, request, object: "installation") {}
  }

  /// Stores the start of an activity that the app shows already: before its token, and in the same order.
  ///
  /// - Parameter activityID: ActivityKit's id of the activity.
  public func started<State: Encodable>(_ activityID: String, state: State) throws {
    try outbox.add(
      ActivitiesServiceMethods.startActivity,
      StartActivityRequest(
        activityId: activityID, app: configuration.app, environment: configuration.environment.rawValue,
        origin: .local, contentStateJson: try state.activityJSON(), installationId: configuration.installationID),
      object: activityID)
  }

  /// Stores the start of a timer that the app shows already, whose state Activities computes from now on.
  public func startedTimer(
    _ activityID: String, state: TimerContentState, type: TimerSessionType, completesByItself: Bool
  ) throws(RPCError) {
    try outbox.add(
      TimersServiceMethods.startTimer,
      StartTimerRequest(
        activityId: activityID, app: configuration.app, environment: configuration.environment.rawValue,
        origin: .local, methodName: state.methodName, sessionType: type,
        duration: state.isOpen ? nil : ProtoDuration(state.duration), startTime: ProtoTimestamp(state.startedAt),
        completesByItself: completesByItself, installationId: configuration.installationID),
      object: activityID)
  }

  /// Deletes this installation's tokens at logout, so that the device shows nothing of the user any more.
  public func signOut(_ campanile: Campanile) async throws {
    tasks.cancel()
    let service = campanile.activities.pushTokens
    var page = ListPushTokensRequest(pageSize: 100)
    repeat {
      let response = try await service.listPushTokens(page)
      for token in response.tokens
      where token.app == configuration.app && token.installationId == configuration.installationID {
        _ = try await service.deletePushToken(.init(tokenId: token.id))
      }
      page.pageToken = response.nextPageToken
    } while !page.pageToken.isEmpty
    registry.withLock { $0 = TokenRegistry(configuration) }
  }

  private func register(_ token: [UInt8], _ place: TokenRegistry.Place) {
    let nowMs = environment.wallMs()
    guard let request = registry.withLock({ $0.received(token, for: place, atMs: nowMs) }) else { return }
    add(PushTokensServiceMethods.registerPushToken, request, object: place.object) {
      self.registry.withLock { $0.failed(place) }
    }
  }

  private func add<Q: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, object: String, otherwise: () -> Void
  ) {
    do throws(RPCError) {
      try outbox.add(method, request, object: object)
    } catch {
      otherwise()
      failed(error)
    }
  }
}

/// Tasks that end with their owner.
final class TaskBag: Sendable {
  private let tasks = Locked<[Task<Void, Never>]>([])

  func add(_ task: Task<Void, Never>) { tasks.withLock { $0.append(task) } }

  func cancel() {
    let ended = tasks.withLock { tasks in
      defer { tasks = [] }
      return tasks
    }
    for task in ended { task.cancel() }
  }
}
