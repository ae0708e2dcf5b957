import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import GatewayHTTP

/// The functions that the Growth app calls.
struct GrowthCalls: Sendable {
  /// Maximum number of attempts for a change that conflicts with another.
  static let attemptsMax = 4
  /// The environment of a request that names none, as of the app's own functions.
  static let environmentDefault = "development"
  /// Time after each update at which the app's states become stale: the maximum life of an activity.
  static let staleMs: Int64 = 8 * 3_600_000
  /// Time that a completed timer stays on the Lock Screen.
  static let completedShownMs: Int64 = 5 * 60_000

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

  static func success(_ more: [String: JSONTree] = [:]) -> JSONTree {
    .object(more.merging(["success": .bool(true)]) { first, _ in first })
  }

  func call<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, _ calls: InnerCalls
  ) async throws(RPCError) -> R {
    try await calls.unary(method, request, as: identity)
  }

  /// Reports whether the user allows frequent updates, which have a larger budget.
  func setFrequentPushes(_ isEnabled: Bool, _ calls: InnerCalls) async throws(RPCError) {
    let request = UpdateInstallationRequest(app: configuration.app, frequentPushesEnabled: isEnabled)
    let _: UpdateInstallationResponse = try await call(PushTokensServiceMethods.updateInstallation, request, calls)
  }

  // MARK: tokens

  /// Reads the environment that a request names; nil if it names none.
  func requestedEnvironment(_ data: JSONFields) throws(RPCError) -> String? {
    guard let name = try data.string("environment") else { return nil }
    guard ["development", "sandbox", "production"].contains(name) else {
      throw data.wrong("environment", "development, sandbox or production")
    }
    return name
  }

  private func token(_ data: JSONFields, _ kind: PushTokenKind) throws(RPCError) -> RegisterPushTokenRequest {
    var request = RegisterPushTokenRequest(
      kind: kind, token: try data.required("token", try data.string("token")).lowercased(), app: configuration.app,
      environment: try requestedEnvironment(data) ?? Self.environmentDefault)
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

  func register(_ request: RegisterPushTokenRequest, _ calls: InnerCalls) async throws(RPCError) {
    let _: RegisterPushTokenResponse = try await call(PushTokensServiceMethods.registerPushToken, request, calls)
  }

  func start(
    _ id: String, _ environment: String, _ state: GrowthState, _ calls: InnerCalls
  ) async throws(RPCError) {
    let request = StartActivityRequest(
      activityId: id, app: configuration.app, environment: environment, origin: .local,
      contentStateJson: state.content(isFoundation: configuration.writesFoundationDates),
      staleTime: ProtoTimestamp(millisecondsSince1970: nowMs() + Self.staleMs), relevanceScore: state.relevanceScore)
    do throws(RPCError) {
      let _: StartActivityResponse = try await call(ActivitiesServiceMethods.startActivity, request, calls)
    } catch {
      // Another request has started it. The next call checks its owner.
      guard error.reason == "ACTIVITY_EXISTS" else { throw error }
    }
  }

  private func findToken(_ data: JSONFields, _ calls: InnerCalls) async throws(RPCError) -> JSONTree {
    let id = try data.required("activityId", try data.string("activityId"))
    return .object(["token": .string(try await knownToken(of: id, calls))])
  }

  func knownToken(of id: String, _ calls: InnerCalls) async throws(RPCError) -> String {
    let request = GetActivityPushTokenRequest(activityId: id)
    let response: GetActivityPushTokenResponse = try await call(
      PushTokensServiceMethods.getActivityPushToken, request, calls)
    return response.token
  }

  /// Reads the token that an update brings along; nil if it brings none.
  func pushToken(_ data: JSONFields) throws(RPCError) -> String? {
    guard let token = try data.string("pushToken"), !token.isEmpty else { return nil }
    guard token.utf8.count.isMultiple(of: 2), token.allSatisfy(\.isHexDigit) else {
      throw data.wrong("pushToken", "an even number of hexadecimal digits")
    }
    return token.lowercased()
  }
}
