import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import GatewayHTTP

/// The functions that the Growth app calls.
struct GrowthCalls: Sendable {
  /// Maximum number of attempts for a change that conflicts with another.
  static let attemptsMax = 4

  let configuration: FirebaseConfiguration
  let identity: InnerCalls.Identity
  let nowMs: @Sendable () -> Int64

  func answer(
    _ function: FirebaseDialect.Function, _ data: JSONFields, _ calls: InnerCalls
  ) async throws(RPCError) -> JSONTree {
    switch function {
    case .registerLiveActivityPushToken: return try await register(data, calls)
    case .registerPushToStartToken:
      try await register(try token(data, .pushToStart), calls)
      return Self.success()
    case .updateLiveActivity: return try await update(data, calls)
    case .updateLiveActivityTimer: return try await changeTimer(data, calls)
    case .manageLiveActivityUpdates: return try await manage(data, calls)
    case .getLiveActivityPushToken: return try await findToken(data, calls)
    case .updateFrequentPushesSettings:
      try await setFrequentPushes(
        try data.required("frequentPushesEnabled", try data.bool("frequentPushesEnabled")), calls)
      return Self.success()
    }
  }

  private static func success(_ more: [String: JSONTree] = [:]) -> JSONTree {
    .object(more.merging(["success": .bool(true)]) { first, _ in first })
  }

  private func call<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, _ calls: InnerCalls
  ) async throws(RPCError) -> R {
    try await calls.unary(method, request, as: identity)
  }

  /// Reports whether the user allows frequent updates, which have a larger budget.
  private func setFrequentPushes(_ isEnabled: Bool, _ calls: InnerCalls) async throws(RPCError) {
    let request = UpdateInstallationRequest(app: configuration.app, frequentPushesEnabled: isEnabled)
    let _: UpdateInstallationResponse = try await call(PushTokensServiceMethods.updateInstallation, request, calls)
  }

  // MARK: tokens

  private func environment(_ data: JSONFields) throws(RPCError) -> String {
    let name = try data.string("environment") ?? "production"
    guard ["development", "sandbox", "production"].contains(name) else {
      throw data.wrong("environment", "development, sandbox or production")
    }
    return name
  }

  private func token(_ data: JSONFields, _ kind: PushTokenKind) throws(RPCError) -> RegisterPushTokenRequest {
    var request = RegisterPushTokenRequest(
      kind: kind, token: try data.required("token", try data.string("token")).lowercased(), app: configuration.app,
      environment: try environment(data))
    if let platform = try data.string("platform"), platform != "ios" { throw data.wrong("platform", "ios") }
    if let seconds = try data.number("timestamp") {
      guard (0..<10_000_000_000).contains(seconds) else { throw data.wrong("timestamp", "seconds since 1970") }
      request.tokenTime = ProtoTimestamp(millisecondsSince1970: Int64((seconds * 1000).rounded()))
    }
    return request
  }

  private func register(_ data: JSONFields, _ calls: InnerCalls) async throws(RPCError) -> JSONTree {
    var request = try token(data, .activityUpdate)
    request.activityId = try data.required("activityId", try data.string("activityId"))
    do throws(RPCError) { try await register(request, calls) } catch {
      guard error.reason == "ACTIVITY_NOT_FOUND" else { throw error }
      // The app has started the activity; this token is the first sign of it.
      let startedAtMs = request.tokenTime?.millisecondsSince1970 ?? nowMs()
      try await start(request.activityId, request.environment, GrowthState(startedAtMs: startedAtMs), calls)
      try await register(request, calls)
    }
    return Self.success(["activityId": .string(request.activityId)])
  }

  private func register(_ request: RegisterPushTokenRequest, _ calls: InnerCalls) async throws(RPCError) {
    let _: RegisterPushTokenResponse = try await call(PushTokensServiceMethods.registerPushToken, request, calls)
  }

  private func start(
    _ id: String, _ environment: String, _ state: GrowthState, _ calls: InnerCalls
  ) async throws(RPCError) {
    let request = StartActivityRequest(
      activityId: id, app: configuration.app, environment: environment, origin: .local,
      contentStateJson: state.content(isFoundation: configuration.writesFoundationDates))
    do throws(RPCError) {
      let _: StartActivityResponse = try await call(ActivitiesServiceMethods.startActivity, request, calls)
    } catch {
      // Another request has started it. The next call checks its owner.
      guard error.reason == "ACTIVITY_EXISTS" else { throw error }
    }
  }

  /// Returns a redacted token, because complete tokens are never returned.
  private func findToken(_ data: JSONFields, _ calls: InnerCalls) async throws(RPCError) -> JSONTree {
    let id = try data.required("activityId", try data.string("activityId"))
    var page = ""
    for _ in 0..<InnerCalls.pagesMax {
      let request = ListPushTokensRequest(pageSize: 1000, pageToken: page)
      let response: ListPushTokensResponse = try await call(PushTokensServiceMethods.listPushTokens, request, calls)
      if let found = response.tokens.first(where: { $0.activityId == id && $0.app == configuration.app }) {
        return .object(["token": .string(found.redactedToken)])
      }
      page = response.nextPageToken
      if page.isEmpty { break }
    }
    throw RPCError(.notFound, "the activity has no token", reason: "TOKEN_NOT_FOUND")
  }

  // MARK: activities

  private func update(_ data: JSONFields, _ calls: InnerCalls) async throws(RPCError) -> JSONTree {
    let id = try data.required("activityId", try data.string("activityId"))
    let event = try data.string("event") ?? "update"
    guard ["update", "end"].contains(event) else { throw data.wrong("event", "update or end") }
    guard let fields = try data.object("contentState") else {
      throw RPCError.invalidField("contentState", "it is required", reason: "FIELD_REQUIRED")
    }
    let state = try GrowthState(fields)
    let action = try data.string("action") ?? event
    let isFrequent = try data.bool("frequentPushesEnabled")
    do throws(RPCError) { try await put(id, state, isEnd: event == "end" || action == "stop", calls) } catch {
      guard error.reason == "ACTIVITY_NOT_FOUND", event == "update" else { throw error }
      try await start(id, try environment(data), state, calls)
      try await put(id, state, isEnd: false, calls)
    }
    if let isFrequent { try await setFrequentPushes(isFrequent, calls) }
    return Self.success(["activityId": .string(id)])
  }

  /// Writes a new state, or ends the activity with its final state and dismisses it from the Lock Screen.
  private func put(
    _ id: String, _ state: GrowthState, isEnd: Bool, etag: String = "", _ calls: InnerCalls
  ) async throws(RPCError) {
    let content = state.content(isFoundation: configuration.writesFoundationDates)
    guard isEnd else {
      let request = UpdateActivityRequest(activityId: id, contentStateJson: content, etag: etag)
      let _: UpdateActivityResponse = try await call(ActivitiesServiceMethods.updateActivity, request, calls)
      return
    }
    let request = EndActivityRequest(
      activityId: id, contentStateJson: content, dismissalTime: ProtoTimestamp(millisecondsSince1970: nowMs()),
      etag: etag)
    let _: EndActivityResponse = try await call(ActivitiesServiceMethods.endActivity, request, calls)
  }

  private func changeTimer(_ data: JSONFields, _ calls: InnerCalls) async throws(RPCError) -> JSONTree {
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
        if action == "stop" || state != found { try await put(id, state, isEnd: action == "stop", etag: etag, calls) }
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

  /// Checks that the activity exists and belongs to the caller. Nothing is enabled or disabled, because the service
  /// pushes as long as the activity lives.
  private func manage(_ data: JSONFields, _ calls: InnerCalls) async throws(RPCError) -> JSONTree {
    let action = try data.required("action", try data.string("action"))
    guard ["startPushUpdates", "stopPushUpdates"].contains(action) else {
      throw data.wrong("action", "startPushUpdates or stopPushUpdates")
    }
    let request = GetActivityRequest(activityId: try data.required("activityId", try data.string("activityId")))
    let _: GetActivityResponse = try await call(ActivitiesServiceMethods.getActivity, request, calls)
    return Self.success([
      "message": .string(action == "startPushUpdates" ? "Push updates started" : "Push updates stopped")
    ])
  }
}
