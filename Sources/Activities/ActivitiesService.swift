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
    let draft = try StartRules.draft(request, context: context, policy: policy, nowMs: repository.clockMs())
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: ActivitiesServiceMethods.startActivity, user: user)
    return StartActivityResponse(activity: try await repository.start(draft, user: user, idempotency: idempotency))
  }

  public func updateActivity(
    _ request: UpdateActivityRequest, context: CallContext
  ) async throws -> UpdateActivityResponse {
    let user = try context.requireUser()
    let change = try UpdateRules.change(
      request, nowMs: repository.clockMs(), traceParent: context.traceParent)
    return UpdateActivityResponse(activity: try await repository.update(request.activityId, user: user, change).message)
  }

  public func batchUpdateActivities(
    _ request: BatchUpdateActivitiesRequest, context: CallContext
  ) async throws -> BatchUpdateActivitiesResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    let nowMs = repository.clockMs()
    let traceParent = context.traceParent
    let entries = request.requests.enumerated().map { index, entry in
      let change: Result<ActivityChange, RPCError>
      do throws(RPCError) {
        change = .success(try UpdateRules.change(entry, nowMs: nowMs, traceParent: traceParent))
      } catch {
        change = .failure(error)
      }
      return (id: entry.activityId, path: "requests[\(index)].", change: change)
    }
    return BatchUpdateActivitiesResponse(results: try await repository.update(entries, user: user).map(Self.result))
  }

  public func endActivity(_ request: EndActivityRequest, context: CallContext) async throws -> EndActivityResponse {
    let user = try context.requireUser()
    let end = try UpdateRules.end(request, nowMs: repository.clockMs(), traceParent: context.traceParent)
    return EndActivityResponse(activity: try await repository.end(request, end, user: user).message)
  }

  public func getActivity(_ request: GetActivityRequest, context: CallContext) async throws -> GetActivityResponse {
    let user = try context.requireUser()
    return GetActivityResponse(activity: try repository.activity(request.activityId, user: user))
  }

  public func listActivities(
    _ request: ListActivitiesRequest, context: CallContext
  ) async throws -> ListActivitiesResponse {
    let query = try ActivityQuery(request, user: try context.requireUser(), limits: limits)
    let (page, nextPageToken) = query.cut(try repository.activities(query))
    return ListActivitiesResponse(activities: page.map(\.message), nextPageToken: nextPageToken)
  }

  public func watchActivities(
    _ request: WatchActivitiesRequest, context: CallContext, responses: ResponseSink<WatchActivitiesResponse>
  ) async throws {
    let user = try context.requireUser()
    try await watch.run(request, user: user) { try await responses.send($0) }
  }

  private static func result(_ result: Result<StoredActivity, RPCError>) -> BatchUpdateResult {
    switch result {
    case .success(let activity):
      BatchUpdateResult(
        outcome: .activity(
          ActivityReceipt(
            activityId: activity.id, etag: Etag.text(version: activity.version), apsTimestamp: activity.apsTimestamp)))
    case .failure(let failure):
      BatchUpdateResult(outcome: .error(failure.batchEntry(ActivityError.init(code:message:reason:field:))))
    }
  }
}

extension CallContext {
  /// The W3C trace context for pushes of this call: its own span if the call is traced, else the received context.
  var traceParent: String? { CallScope.trace?.text ?? metadata[TraceContext.parentKey] }
}
