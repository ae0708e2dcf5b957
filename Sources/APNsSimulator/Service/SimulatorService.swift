import APNs
public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService
import Synchronization

/// Serves `campanile.simulator.v1.SimulatorService` from the state that the control API shows, too.
public struct SimulatorService: SimulatorServiceProtocol {
  let simulator: Simulator
  let limits: SimulatorServiceLimits
  let requests: FaultRequests

  init(simulator: Simulator, limits: SimulatorServiceLimits = SimulatorServiceLimits()) {
    self.simulator = simulator
    self.limits = limits
    requests = FaultRequests(countMax: limits.requestsMax)
  }

  // MARK: - screens

  public func listScreens(_ request: ListScreensRequest, context: CallContext) async throws -> ListScreensResponse {
    try context.requireOperator()
    try request.checkConstraints()
    let query = try PositionQuery(
      user: "", pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["screens", request.app, request.device], parts: 1, limits: limits)
    let nowMs = simulator.nowMs()
    let (views, hasMore, position) = simulator.state.withLock { state in
      let (keys, hasMore) = state.page(after: query.position.first ?? "", limit: query.pageSize) { key, screen in
        guard request.app.isEmpty || screen.bundleID == request.app else { return false }
        guard !request.device.isEmpty else { return true }
        return ScreenID.channelID(key: key) == nil && state.device(ofToken: key) == request.device
      }
      return (keys.compactMap { state.view($0, nowMs: nowMs) }, hasMore, state.screenLog.present)
    }
    var page = PageRows<(key: String, screen: SimulatedScreen)>(
      countMax: query.pageSize, sizeBytesMax: limits.pageBytesMax)
    for view in views {
      let screen = view.message
      guard page.add((view.key, screen), sizeBytes: screen.sizeBytes) else { break }
    }
    let last = hasMore || page.hasMore ? page.items.last : nil
    return ListScreensResponse(
      screens: page.items.map(\.screen), nextPageToken: last.map { query.token([$0.key]) } ?? "",
      resumeToken: position.text(user: ScreenWatch.scope))
  }

  public func getScreen(_ request: GetScreenRequest, context: CallContext) async throws -> GetScreenResponse {
    try context.requireOperator()
    try request.checkConstraints()
    let nowMs = simulator.nowMs()
    let found = ScreenID.key(request.screenId).flatMap { key in
      simulator.state.withLock { state in
        state.view(key, nowMs: nowMs).map { (view: $0, states: state.histories.states(key)) }
      }
    }
    guard let found else { throw Self.missing(request.screenId) }
    return GetScreenResponse(screen: found.view.message, states: found.states.map(\.message))
  }

  public func watchScreens(
    _ request: WatchScreensRequest, context: CallContext, responses: ResponseSink<WatchScreensResponse>
  ) async throws {
    try context.requireOperator()
    try request.checkConstraints()
    try await ScreenWatch(simulator: simulator, pageRows: limits.watchPageRows).run(request) {
      try await responses.send($0)
    }
  }

  // MARK: - pushes

  public func listSimulatedPushes(
    _ request: ListSimulatedPushesRequest, context: CallContext
  ) async throws -> ListSimulatedPushesResponse {
    try context.requireOperator()
    try request.checkConstraints()
    let query = try PositionQuery(
      user: "", pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["simulated-pushes", request.screenId, request.apnsId], parts: 1, limits: limits)
    let before = query.position.first.flatMap { Int64($0) } ?? .max
    let key = ScreenID.key(request.screenId)
    let (found, position) = simulator.state.withLock { state in
      let matching = state.log.entries(before: before, limit: query.pageSize + 1) { push in
        (request.screenId.isEmpty || push.screenKey == key) && (request.apnsId.isEmpty || push.id == request.apnsId)
      }
      return (matching, state.presentPush)
    }
    let (pushes, nextPageToken) = query.page(found) { [String($0.sequence)] }
    return ListSimulatedPushesResponse(
      pushes: pushes.map(\.message), nextPageToken: nextPageToken,
      resumeToken: position.text(user: SimulatedPushWatch.scope))
  }

  public func watchSimulatedPushes(
    _ request: WatchSimulatedPushesRequest, context: CallContext,
    responses: ResponseSink<WatchSimulatedPushesResponse>
  ) async throws {
    try context.requireOperator()
    try request.checkConstraints()
    try await SimulatedPushWatch(simulator: simulator, pageRows: limits.watchPageRows).run(request) {
      try await responses.send($0)
    }
  }

  // MARK: - faults

  public func listFaults(_ request: ListFaultsRequest, context: CallContext) async throws -> ListFaultsResponse {
    try context.requireOperator()
    try request.checkConstraints()
    let query = try PositionQuery(
      user: "", pageSize: request.pageSize, pageToken: request.pageToken, scope: ["faults"], parts: 1, limits: limits)
    let after = query.position.first.flatMap { Int($0) } ?? 0
    let rules = simulator.state.withLock { $0.faults.rules.filter { $0.id > after } }
    let (page, nextPageToken) = query.page(Array(rules.prefix(query.pageSize + 1))) { [String($0.id)] }
    return ListFaultsResponse(faults: page.map(\.message), nextPageToken: nextPageToken)
  }

  public func createFault(_ request: CreateFaultRequest, context: CallContext) async throws -> CreateFaultResponse {
    try context.requireOperator()
    try request.checkConstraints()
    let nowMs = simulator.nowMs()
    return try requests.perform(request, caller: context.principal?.name ?? "", nowMs: nowMs) { () throws(RPCError) in
      let rule = try FaultRule(request.fault ?? Fault(), nowMs: nowMs)
      guard let added = simulator.change({ $0.add(rule, nowMs: nowMs) }) else {
        let limit = simulator.limits.faultsMax
        throw .exhausted("the simulator may have \(limit) faults; delete some", .faultsExhausted, limit: limit)
      }
      return CreateFaultResponse(fault: added.message)
    }
  }

  public func deleteFault(_ request: DeleteFaultRequest, context: CallContext) async throws -> DeleteFaultResponse {
    try context.requireOperator()
    try request.checkConstraints()
    guard let id = Int(request.faultId), simulator.change({ $0.faults.remove(id) }) else {
      throw RPCError.missing("fault", request.faultId, field: "faultId", .faultNotFound)
    }
    return DeleteFaultResponse()
  }

  // MARK: - devices

  public func setDeviceConnection(
    _ request: SetDeviceConnectionRequest, context: CallContext
  ) async throws -> SetDeviceConnectionResponse {
    try context.requireOperator()
    try request.checkConstraints()
    let nowMs = simulator.nowMs()
    if request.connected {
      let count = simulator.change { $0.connectDevice(request.device, nowMs: nowMs) }
      return SetDeviceConnectionResponse(deliveredCount: Int32(clamping: count))
    }
    guard simulator.change({ $0.disconnectDevice(request.device) }) else {
      let limit = simulator.limits.screensMax
      throw RPCError.exhausted("\(limit) devices may be disconnected", .devicesExhausted, limit: limit)
    }
    return SetDeviceConnectionResponse()
  }

  public func invalidateScreen(
    _ request: InvalidateScreenRequest, context: CallContext
  ) async throws -> InvalidateScreenResponse {
    try context.requireOperator()
    try request.checkConstraints()
    let nowMs = simulator.nowMs()
    let rejection = DeviceRecord.Rejection(reason: request.reason.apnsReason, timestampMs: nowMs)
    guard let key = ScreenID.key(request.screenId), simulator.state.withLock({ $0.screens[key] != nil }) else {
      throw Self.missing(request.screenId)
    }
    guard ScreenID.channelID(key: key) == nil else {
      throw RPCError.refused("screenId", "is a channel, which has no token", .screenWithoutToken)
    }
    let view = simulator.change { state in
      state.reject(key, rejection).flatMap { _ in state.view(key, nowMs: nowMs) }
    }
    guard let view else { throw Self.missing(request.screenId) }
    return InvalidateScreenResponse(screen: view.message)
  }

  private static func missing(_ id: String) -> RPCError {
    .missing("screen", id, field: "screenId", .screenNotFound)
  }
}

extension InvalidationReason {
  fileprivate var apnsReason: APNsReason {
    switch self {
    case .expiredToken: .expiredToken
    case .badDeviceToken: .badDeviceToken
    default: .unregistered
    }
  }
}

extension SimulatedScreen {
  /// An upper bound of what varies, for the size of pages.
  fileprivate var sizeBytes: Int {
    let texts = (state?.payloadJson.utf8.count ?? 0) + (state?.contentStateJson.utf8.count ?? 0)
    return 1_000 + attributesJson.utf8.count + 2 * texts
  }
}

/// Error reasons of the simulator.
extension Reason {
  static let screenNotFound = Reason(rawValue: "SCREEN_NOT_FOUND")
  static let screenWithoutToken = Reason(rawValue: "SCREEN_WITHOUT_TOKEN")
  static let faultNotFound = Reason(rawValue: "FAULT_NOT_FOUND")
  static let faultsExhausted = Reason(rawValue: "FAULTS_EXHAUSTED")
  static let devicesExhausted = Reason(rawValue: "DEVICES_EXHAUSTED")
}
