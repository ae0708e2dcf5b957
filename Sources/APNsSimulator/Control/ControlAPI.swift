import APNs
import CampanileCrypto
import CampanileServer
import Synchronization

/// The HTTP API with JSON bodies that scripts a simulator and shows what devices would display.
///
/// | request | effect |
/// |---|---|
/// | `GET /v1/statistics` | counts of responses, discarded pushes, connections and faults |
/// | `GET, PATCH /v1/settings` | settings that can be changed at run time |
/// | `GET, POST, DELETE /v1/faults`, `DELETE /v1/faults/ID` | scripted faults |
/// | `GET, POST /v1/keys`, `DELETE /v1/keys/ID` | public keys of provider tokens |
/// | `POST /v1/tokens`, `GET, DELETE /v1/tokens/TOKEN`, `POST /v1/tokens/TOKEN/reject` | device tokens |
/// | `POST /v1/devices/NAME/disconnect`, `…/connect` | a device's connection, by its name or its token |
/// | `GET /v1/screens?key=…` or `?after=…&limit=…` | the display of a token, or of `channel/ID` |
/// | `GET /v1/pushes?after=…&limit=…` | the newest pushes and their outcomes |
/// | `GET /v1/channels` | broadcast channels |
/// | `POST /v1/connections/goaway`, `POST /v1/connections/close` | ends every connection |
/// | `POST /v1/reset` | clears everything except the keys and settings, and ends the TLS fault |
///
/// Errors are `{"reason","message"}` with 400, 401, 404, 405 or 409.
struct ControlAPI: Sendable {
  let simulator: Simulator
  let server: APNsServer
  /// The token required in `Authorization: Bearer …`; nil disables authentication.
  let token: String?

  static let prefix = "/v1"
  static let pageMax = 1000
  static let pageDefault = 100

  var routes: AdminRoutes { AdminRoutes(prefix: Self.prefix) { request in answer(request) } }

  func answer(_ request: AdminRoutes.Request) -> AdminRoutes.Response {
    do throws(ControlError) {
      try authenticate(request)
      return AdminRoutes.Response(status: 200, body: try handle(request) + Array("\n".utf8))
    } catch {
      let body = ControlReply.object { reply in
        reply.member("reason", error.reason)
        reply.member("message", error.message)
      }
      return AdminRoutes.Response(status: error.status, body: body + Array("\n".utf8))
    }
  }

  private func authenticate(_ request: AdminRoutes.Request) throws(ControlError) {
    guard let token else { return }
    guard let given = request.authorization, given.count > 7, given.prefix(7).lowercased() == "bearer ",
      ConstantTime.equal(Array(given.dropFirst(7).utf8), Array(token.utf8))
    else { throw ControlError(401, "UNAUTHENTICATED", "Authorization: Bearer with the internal token is required") }
  }

  private func handle(_ request: AdminRoutes.Request) throws(ControlError) -> [UInt8] {
    let parts = request.path.dropFirst(Self.prefix.count).split(separator: "/").map(String.init)
    switch (request.method, parts.first ?? "", parts.dropFirst().first, parts.count) {
    case ("GET", "statistics", nil, 1): return statistics()
    case ("GET", "settings", nil, 1): return settings()
    case ("PATCH", "settings", nil, 1): return try set(request.body)
    case ("GET", "faults", nil, 1): return faults()
    case ("POST", "faults", nil, 1): return try addFault(request.body)
    case ("DELETE", "faults", nil, 1): return removeFaults()
    case ("DELETE", "faults", let id?, 2): return try removeFault(id)
    case ("GET", "keys", nil, 1): return keys()
    case ("POST", "keys", nil, 1): return try addKey(request.body)
    case ("DELETE", "keys", let id?, 2): return try removeKey(id)
    case ("POST", "tokens", nil, 1): return try registerToken(request.body)
    case ("GET", "tokens", let token?, 2): return try device(token)
    case ("DELETE", "tokens", let token?, 2): return try forget(token)
    case ("POST", "tokens", let token?, 3) where parts.last == "reject": return try reject(token, request.body)
    case ("POST", "devices", let device?, 3) where parts.last == "disconnect": return try disconnect(device)
    case ("POST", "devices", let device?, 3) where parts.last == "connect": return connect(device)
    case ("GET", "screens", nil, 1): return try screens(request.query)
    case ("GET", "pushes", nil, 1): return try pushes(request.query)
    case ("GET", "channels", nil, 1): return channels()
    case ("POST", "connections", let how?, 2): return try endConnections(how)
    case ("POST", "reset", nil, 1): return reset()
    default: throw .notFound("no route for \(request.method) \(request.path)")
    }
  }

  // MARK: - the server

  private func settings() -> [UInt8] {
    let limits = simulator.limits
    let fault = server.fault
    return ControlReply.object { reply in
      reply.member("tokenRenewalScope", limits.tokenRenewalScope.rawValue)
      reply.member("tokenRenewalMs", limits.tokenRenewalMsMin)
      reply.member("registeredTokensOnly", limits.registeredTokensOnly)
      reply.member("updatesPerHour", limits.updatesPerHourMax)
      reply.member("backgroundsPerHour", limits.backgroundsPerHourMax)
      reply.member("tlsFault", fault.rawValue)
    }
  }

  private func set(_ body: [UInt8]) throws(ControlError) -> [UInt8] {
    let settings = try ControlRequest.settings(body)
    simulator.state.withLock { state in
      if let scope = settings.tokenRenewalScope { state.limits.tokenRenewalScope = scope }
      if let renewalMs = settings.tokenRenewalMs { state.limits.tokenRenewalMsMin = renewalMs }
      if let only = settings.registeredTokensOnly { state.limits.registeredTokensOnly = only }
      if let count = settings.updatesPerHour { state.limits.updatesPerHourMax = count }
      if let count = settings.backgroundsPerHour { state.limits.backgroundsPerHourMax = count }
    }
    if let fault = settings.tlsFault { server.set(fault) }
    return self.settings()
  }

  private func endConnections(_ how: String) throws(ControlError) -> [UInt8] {
    let count = server.connectionCount
    switch how {
    case "goaway": server.endConnections(gracefully: true)
    case "close": server.endConnections(gracefully: false)
    default: throw .notFound("connections can be ended with goaway or close")
    }
    return ControlReply.object { $0.member("connections", count) }
  }

  private func statistics() -> [UInt8] {
    let (statistics, screens, journalFailure) = simulator.state.withLock {
      ($0.statistics, $0.screens.count, $0.journal?.failure)
    }
    let connections = server.connectionCount
    return ControlReply.object { reply in
      reply.member("requests", statistics.requests)
      reply.member("answers") { reply in
        for (label, count) in statistics.answers.sorted(by: { $0.key < $1.key }) { reply.member(label, count) }
      }
      reply.member("discards") { $0.members(statistics.discards) }
      reply.member("screens", screens)
      reply.member("untracked", statistics.untracked)
      reply.member("displaced", statistics.displaced)
      reply.member("connections", connections)
      reply.member("connectionsAccepted", statistics.connectionsAccepted)
      reply.member("tlsFailures", statistics.tlsFailures)
      reply.member("goAways", statistics.goAways)
      reply.member("resets", statistics.resets)
      reply.member("closes", statistics.closes)
      reply.member("stalls", statistics.stalls)
      reply.member("journalFailure", journalFailure)
    }
  }
}
