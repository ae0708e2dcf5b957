import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import GatewayHTTP

/// The functions that change activities.
extension GrowthCalls {
  func update(_ data: JSONFields, _ calls: InnerCalls) async throws(RPCError) -> JSONTree {
    let id = try data.required("activityId", try data.string("activityId"))
    let event = try data.string("event") ?? "update"
    guard ["update", "end"].contains(event) else { throw data.wrong("event", "update or end") }
    guard let fields = try data.object("contentState") else {
      throw RPCError.invalidField("contentState", "it is required", reason: "FIELD_REQUIRED")
    }
    var state = try GrowthState(fields)
    let action = try data.string("action") ?? event
    let isFrequent = try data.bool("frequentPushesEnabled")
    var end: End?
    if action == "complete" { state.complete(atMs: nowMs()) }
    if state.isCompleted { end = .completed }
    if event == "end" || action == "stop" { end = .stopped }
    // Without a token nothing could be pushed: the app has to register it first.
    if let token = try pushToken(data) {
      try await adopt(id, token, environment: try requestedEnvironment(data), state, calls)
    }
    try await put(id, state, end, calls)
    if let isFrequent { try await setFrequentPushes(isFrequent, calls) }
    return Self.success(["activityId": .string(id)])
  }

  /// Makes an activity known that the app has started, and registers its token unless the activity has it.
  private func adopt(
    _ id: String, _ token: String, environment: String?, _ state: GrowthState, _ calls: InnerCalls
  ) async throws(RPCError) {
    var activity = Activity(id: id, environment: environment ?? Self.environmentDefault)
    do throws(RPCError) {
      let response: GetActivityResponse = try await call(
        ActivitiesServiceMethods.getActivity, GetActivityRequest(activityId: id), calls)
      activity = response.activity ?? activity
    } catch {
      guard error.reason == "ACTIVITY_NOT_FOUND" else { throw error }
      try await start(id, activity.environment, state, calls)
    }
    guard activity.status != .ended else { return }
    if activity.updateTokenCount > 0, try await knownToken(of: id, calls) == token { return }
    try await register(
      RegisterPushTokenRequest(
        kind: .activityUpdate, token: token, app: configuration.app, environment: environment ?? activity.environment,
        activityId: id), calls)
  }

  /// The end of an activity.
  private enum End {
    /// The activity leaves the Lock Screen at once.
    case stopped
    /// It stays there for a few minutes.
    case completed

    var shownMs: Int64 { self == .stopped ? 0 : GrowthCalls.completedShownMs }
  }

  /// Writes a new state, or ends the activity with its final state. A running countdown ends by itself.
  private func put(
    _ id: String, _ state: GrowthState, _ end: End?, etag: String = "", _ calls: InnerCalls
  ) async throws(RPCError) {
    let content = state.content(isFoundation: configuration.writesFoundationDates)
    if let end {
      let request = EndActivityRequest(
        activityId: id, contentStateJson: content,
        dismissalTime: ProtoTimestamp(millisecondsSince1970: nowMs() + end.shownMs), etag: etag)
      let _: EndActivityResponse = try await call(ActivitiesServiceMethods.endActivity, request, calls)
      return
    }
    let request = UpdateActivityRequest(
      activityId: id, contentStateJson: content,
      staleTime: ProtoTimestamp(millisecondsSince1970: nowMs() + Self.staleMs), relevanceScore: state.relevanceScore,
      etag: etag)
    let response: UpdateActivityResponse = try await call(ActivitiesServiceMethods.updateActivity, request, calls)
    try await scheduleEnd(of: response.activity ?? Activity(), state, calls)
  }

  /// Schedules the end of a countdown. A pause postpones a scheduled end to the end of the activity's life.
  private func scheduleEnd(
    of activity: Activity, _ state: GrowthState, _ calls: InnerCalls
  ) async throws(RPCError) {
    let lastMs = activity.expireTime?.millisecondsSince1970 ?? 0
    var endMs = lastMs
    if let countdownEndMs = state.countdownEndMs { endMs = min(countdownEndMs, lastMs) }
    let isScheduled = activity.scheduledEndTime != nil
    guard endMs > nowMs(), isScheduled || endMs < lastMs,
      activity.scheduledEndTime?.millisecondsSince1970 != endMs
    else { return }
    var final = state
    final.complete(atMs: endMs)
    let request = EndActivityRequest(
      activityId: activity.id, contentStateJson: final.content(isFoundation: configuration.writesFoundationDates),
      dismissalTime: ProtoTimestamp(millisecondsSince1970: endMs + Self.completedShownMs),
      endTime: ProtoTimestamp(millisecondsSince1970: endMs))
    let _: EndActivityResponse = try await call(ActivitiesServiceMethods.endActivity, request, calls)
  }

  func changeTimer(_ data: JSONFields, _ calls: InnerCalls) async throws(RPCError) -> JSONTree {
    let id = try data.required("activityId", try data.string("activityId"))
    let action = try data.required("action", try data.string("action"))
    guard ["pause", "resume", "stop"].contains(action) else { throw data.wrong("action", "pause, resume or stop") }
    var attempt = 0
    while true {
      attempt += 1
      let (found, etag) = try await state(of: id, calls)
      var state = found
      let now = nowMs()
      if action == "pause" { state.pause(atMs: now) } else { state.resume(atMs: now) }
      do throws(RPCError) {
        if action == "stop" || state != found {
          try await put(id, state, action == "stop" ? .stopped : nil, etag: etag, calls)
        }
      } catch {
        guard error.reason == "ETAG_MISMATCH", attempt < Self.attemptsMax else { throw error }
        continue
      }
      if action == "stop" { return Self.success(["action": .string("stopped")]) }
      return Self.success(["action": .string(action), "contentState": state.tree(isFoundation: false)])
    }
  }

  private func state(of id: String, _ calls: InnerCalls) async throws(RPCError) -> (GrowthState, etag: String) {
    let request = GetActivityRequest(activityId: id)
    let response: GetActivityResponse = try await call(ActivitiesServiceMethods.getActivity, request, calls)
    let activity = response.activity ?? Activity()
    do throws(RPCError) {
      return (try GrowthState(JSONFields(Array(activity.contentStateJson.utf8))), activity.etag)
    } catch {
      throw RPCError(.failedPrecondition, "the activity has no timer", reason: "ACTIVITY_NO_TIMER")
    }
  }

  /// Stops or continues the pushes of an activity. Its end is always pushed.
  func manage(_ data: JSONFields, _ calls: InnerCalls) async throws(RPCError) -> JSONTree {
    let action = try data.required("action", try data.string("action"))
    guard ["startPushUpdates", "stopPushUpdates"].contains(action) else {
      throw data.wrong("action", "startPushUpdates or stopPushUpdates")
    }
    let isStart = action == "startPushUpdates"
    let request = SetActivityPushesRequest(
      activityId: try data.required("activityId", try data.string("activityId")), enabled: isStart)
    let _: SetActivityPushesResponse = try await call(ActivitiesServiceMethods.setActivityPushes, request, calls)
    return Self.success(["message": .string(isStart ? "Push updates started" : "Push updates stopped")])
  }
}
