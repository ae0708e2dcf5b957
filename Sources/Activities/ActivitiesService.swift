public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Implements `campanile.activities.v1.ActivitiesService`: validates requests and calls the repository.
///
/// The repository's commits wake the watches and the sender. Every object belongs to the calling user.
public struct ActivitiesService: ActivitiesServiceProtocol {
  let repository: any ActivitiesRepository
  let limits: ActivitiesLimits
  let policy: ActivitiesPolicy
  let hub: WatchHub
  /// Throws NOT_FOUND, reason `CHANNEL_NOT_FOUND`, for a broadcast channel that APNs does not know.
  let checkChannel: ChannelCheck

  /// The number of open watches.
  public var watchCount: Int { hub.count }

  /// Ends all watches with UNAVAILABLE, reason `SERVICE_STOPPING`, so that a drain does not wait for them.
  public func endWatches() { hub.close() }

  var watch: ActivityWatch {
    ActivityWatch(repository: repository, hub: hub, pageRows: limits.watchPageRows)
  }

  public func startActivity(
    _ request: StartActivityRequest, context: CallContext
  ) async throws -> StartActivityResponse {
    let user = try context.requireUser()
    // A broadcast reaches every subscriber of its channel, not only the caller's devices.
    if !request.channelId.isEmpty { try context.requireAdmin() }
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: ActivitiesServiceMethods.startActivity, user: user)
    let activity = try await repository.start(user: user, idempotency: idempotency) {
      let draft = try StartRules.draft(request, context: context, policy: policy, nowMs: repository.clockMs())
      if !draft.channelID.isEmpty { try await checkChannel(draft.app, draft.environment, draft.channelID) }
      return draft
    }
    return StartActivityResponse(activity: activity)
  }

  public func updateActivity(
    _ request: UpdateActivityRequest, context: CallContext
  ) async throws -> UpdateActivityResponse {
    let user = try context.requireUser()
    let update = try Self.update(request, user: user, context)
    return UpdateActivityResponse(activity: try await repository.update(update, user: user))
  }

  public func batchUpdateActivities(
    _ request: BatchUpdateActivitiesRequest, context: CallContext
  ) async throws -> BatchUpdateActivitiesResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    let entries = request.requests.enumerated().map { index, entry in
      let path = "requests[\(index)]."
      return Result { () throws(RPCError) in try Self.update(entry, at: path, user: user, context) }
        .mapError { $0.inside(path) }
    }
    return BatchUpdateActivitiesResponse(results: try await repository.update(entries, user: user).map(Self.result))
  }

  public func endActivity(_ request: EndActivityRequest, context: CallContext) async throws -> EndActivityResponse {
    let user = try context.requireUser()
    let end = try UpdateRules.end(request, nowMs: repository.clockMs(), traceParent: context.traceParent)
    return EndActivityResponse(activity: try await repository.end(request, end, user: user).message)
  }

  public func setActivityPushes(
    _ request: SetActivityPushesRequest, context: CallContext
  ) async throws -> SetActivityPushesResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    return SetActivityPushesResponse(
      activity: try await repository.setPushes(request.enabled, ofActivity: request.activityId, user: user))
  }

  public func getActivity(_ request: GetActivityRequest, context: CallContext) async throws -> GetActivityResponse {
    let user = try context.requireUser()
    return try await repository.activity(request.activityId, user: user)
  }

  public func listActivities(
    _ request: ListActivitiesRequest, context: CallContext
  ) async throws -> ListActivitiesResponse {
    let user = try context.requireUser()
    let query = try ActivityQuery(request, user: user, limits: limits)
    // Taken before the page is read, so that watching from it misses nothing.
    let present = try await repository.watchStart(resumeToken: "", activityID: nil, user: user)
    let (page, nextPageToken) = query.cut(try await repository.activities(query))
    return ListActivitiesResponse(
      activities: page.map(\.message), nextPageToken: nextPageToken, resumeToken: present.text(user: user))
  }

  public func listActivityChanges(
    _ request: ListActivityChangesRequest, context: CallContext
  ) async throws -> ListActivityChangesResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    return try await ActivityChangePage(repository: repository, limits: limits).read(request, user: user)
  }

  public func watchActivities(
    _ request: WatchActivitiesRequest, context: CallContext, responses: ResponseSink<WatchActivitiesResponse>
  ) async throws {
    let user = try context.requireUser()
    try await watch.run(request, user: user) { try await responses.send($0) }
  }

  /// Validates an update. A repetition may come as a single call or as the entry of a batch.
  private static func update(
    _ request: UpdateActivityRequest, at path: String = "", user: String, _ context: CallContext
  ) throws(RPCError) -> ActivityUpdate {
    let change = try UpdateRules.change(request, traceParent: context.traceParent)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: ActivitiesServiceMethods.updateActivity, user: user)
    return ActivityUpdate(id: request.activityId, change: change, idempotency: idempotency, path: path)
  }

  private static func result(_ result: Result<Activity, RPCError>) -> BatchUpdateResult {
    switch result {
    case .success(let activity):
      BatchUpdateResult(
        outcome: .receipt(
          ActivityReceipt(activityId: activity.id, etag: activity.etag, apsTimestamp: activity.apsTimestamp)))
    case .failure(let failure): BatchUpdateResult(outcome: .error(failure.batchError))
    }
  }
}

extension CallContext {
  /// The W3C trace context for pushes of this call: its own span if the call is traced, else the received context.
  var traceParent: String? { CallScope.trace?.text ?? metadata[TraceContext.parentKey] }
}
