public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Implements `campanile.activities.v1.TimersService`: activities whose state follows a timer. Every object belongs to
/// the calling user.
public struct TimersService: TimersServiceProtocol {
  let repository: any ActivitiesRepository
  let policy: ActivitiesPolicy

  public func startTimer(_ request: StartTimerRequest, context: CallContext) async throws -> StartTimerResponse {
    let user = try context.requireUser()
    let common = StartRules.Common(
      id: request.activityId, app: request.app, environment: request.environment, origin: request.origin,
      attributesType: request.attributesType, attributes: request.attributesJson, alert: request.alert,
      installationID: request.installationId,
      staleTime: request.staleTime
        ?? ProtoTimestamp(millisecondsSince1970: repository.clockMs() + TimerRanking.staleMs),
      relevanceScore: request.relevanceScore ?? TimerRanking.running)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: TimersServiceMethods.startTimer, user: user)
    let activity = try await repository.start(user: user, idempotency: idempotency) {
      var violations = Violations()
      request.validate(into: &violations)
      StartRules.check(common, policy, &violations)
      ActivityRules.url(request.url, "url", &violations)
      let state = DriverRules.timer(request, nowMs: repository.clockMs(), &violations)
      try violations.check()
      let content = TimerMachine(state).content(policy.dates(of: request.app))
      var draft = try StartRules.draft(common, content: content, context: context, policy: policy)
      draft.driver = .timer(state)
      return draft
    }
    return StartTimerResponse(activity: activity)
  }

  public func pauseTimer(_ request: PauseTimerRequest, context: CallContext) async throws -> PauseTimerResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: TimersServiceMethods.pauseTimer, user: user)
    return PauseTimerResponse(activity: try await handle(.pause, request.activityId, user, context, idempotency))
  }

  public func resumeTimer(_ request: ResumeTimerRequest, context: CallContext) async throws -> ResumeTimerResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: TimersServiceMethods.resumeTimer, user: user)
    return ResumeTimerResponse(activity: try await handle(.resume, request.activityId, user, context, idempotency))
  }

  public func stopTimer(_ request: StopTimerRequest, context: CallContext) async throws -> StopTimerResponse {
    StopTimerResponse(activity: try await end(.stop, as: .requested, request.activityId, context))
  }

  public func completeTimer(
    _ request: CompleteTimerRequest, context: CallContext
  ) async throws -> CompleteTimerResponse {
    CompleteTimerResponse(activity: try await end(.complete, as: .completed, request.activityId, context))
  }

  /// Ends a timer. A timer that has ended for the same reason is returned unchanged, because a client may repeat the
  /// call after a lost response.
  private func end(
    _ event: TimerMachine.Event, as reason: EndReason, _ id: String, _ context: CallContext
  ) async throws -> Activity {
    let user = try context.requireUser()
    do {
      return try await handle(event, id, user, context, nil)
    } catch let refusal as RPCError where refusal.reason == Reason.activityEnded.rawValue {
      guard let activity = try await repository.activity(id, user: user).activity, case .timer = activity.driver,
        activity.endReason == reason
      else { throw refusal }
      return activity
    }
  }

  private func handle(
    _ event: TimerMachine.Event, _ id: String, _ user: String, _ context: CallContext,
    _ idempotency: IdempotentRequest?
  ) async throws -> Activity {
    let policy = policy
    let traceParent = context.traceParent
    return try await repository.change(id, user: user, idempotency: idempotency) { activity, nowMs in
      guard case .timer(let state) = activity.driver else {
        throw RPCError.refused("activityId", "the activity is not driven by a timer", .activityNoTimer)
      }
      var machine = TimerMachine(state)
      let action = try machine.handle(event, atMs: nowMs)
      let content = machine.content(policy.dates(of: activity.app))
      var change = StateChange(action, driver: .timer(machine.state), content: content)
      change?.relevanceScore = TimerRanking.score(of: machine.state)
      change?.traceParent = traceParent
      return change
    }
  }
}
