import CampanileAPI
import CampanileRPC
import CampanileServer
import CampanileStore
import Gateway
import GatewayDialects
import GatewayHTTP
import Logging

/// `campanile-gateway`: authenticates callers and forwards their calls to the suite's services.
enum GatewayProgram {
  /// Runs the program with the process's arguments, then exits the process.
  static func main() async {
    var specification = ServiceSpecification.program(
      name: "campanile-gateway", defaultPort: 7400, settings: GatewayProgramConfiguration.all + ProgramStore.settings,
      listenPolicy: .serviceAuthenticates)
    specification.task = ProgramStore.task(
      "gateway", Gateway.migrations, processesSQL: Gateway.membersSQL)
    await ServiceMain.main(specification, open: open)
  }

  private static func open(_ context: ServiceContext) async throws -> ServiceComponents {
    let settings = context.settings
    var configuration = try GatewayProgramConfiguration.configuration(settings)
    configuration.waitingBytesBudget = context.waitingBytes
    configuration.unreadBytesBudget = context.unreadBytes
    configuration.replies.pendingBytesMax = context.waitingBytes.totalBytesMax
    configuration.replies.principalPendingBytesMax = context.waitingBytes.holderBytesMax
    var file = try ProgramStore("gateway", context)
    let peers = GatewayPeers()
    peers.attach(to: &file.configuration)
    let store = try Store(file.configuration, migrations: Gateway.migrations)
    file.opened(store)
    do {
      let gateway = try Gateway(
        configuration, store: store, peers: peers, group: context.eventLoopGroup, logger: context.logger,
        onBackendChange: { name, isServing in
          let level = isServing ? "is serving" : "is not serving"
          context.logger.notice("backend \(level)", metadata: ["backend": "\(name)"])
        })
      addMetrics(of: gateway, to: context.metrics)
      await gateway.resolveBackends()
      try await gateway.prepare()
      if let file = try settings.optionalString(GatewayProgramConfiguration.bootstrapAdminKeyFile) {
        try await gateway.bootstrapAdminKey(file: file)
      }
      return try components(gateway, configuration, store, context)
    } catch {
      await store.close()
      throw error
    }
  }

  private static func addMetrics(of gateway: Gateway, to metrics: MetricsRegistry) {
    metrics.addTotals("campanile_gateway_refused_calls_total") {
      gateway.refusedCalls.map { ([("reason", $0.key)], $0.value) }
    }
    let gauges: [(String, @Sendable (Gateway.BackendGauges) -> Double)] = [
      ("campanile_gateway_backend_serving", { $0.isServing ? 1 : 0 }),
      ("campanile_gateway_backend_breaker", { Double($0.breaker) }),
      ("campanile_gateway_backend_addresses_serving", { Double($0.servingAddresses) }),
      ("campanile_gateway_backend_open_calls", { Double($0.openCalls) }),
    ]
    for (name, read) in gauges {
      metrics.addGauges(name) { gateway.backendGauges.map { ([("backend", $0.name)], read($0)) } }
    }
  }

  private static func components(
    _ gateway: Gateway, _ configuration: GatewayConfiguration, _ store: Store, _ context: ServiceContext
  ) throws -> ServiceComponents {
    var components = ServiceComponents(rpcServices: gateway.services, descriptorSet: DescriptorSet.serializedBytes)
    components.forwardedMethods = SuiteMethods.methods(of: configuration.backends)
    components.authenticator = gateway.helloAuthenticator
    let http = try GatewayProgramConfiguration.http(context.settings)
    let dialects = try GatewayProgramConfiguration.dialectConfiguration(context.settings).dialects(
      nowMs: WallClock.nowMs)
    let frontend = HTTPFrontend(gateway, http, dialects: dialects)
    for fault in frontend.faults {
      context.logger.warning("cannot serve an HTTP rule", metadata: ["rule": "\(fault)"])
    }
    components.calls = gateway.calls
    components.operatorRoutes = { request in await operatorAnswer(gateway, request) }
    components.reloadables = [
      Reloadable(keys: GatewayProgramConfiguration.reloadable) { settings in
        try gateway.prepare(try GatewayProgramConfiguration.configuration(settings))
      }
    ]
    components.wrapDispatcher = { local, observer in
      let dispatcher = gateway.dispatcher(local: local, observer: observer, observation: context.observation)
      frontend.attach(dispatcher)
      return dispatcher
    }
    components.isTrustedProxy = { [proxies = http.trustedProxies] in proxies.trusts(host: $0) }
    components.publicHTTP = PublicHTTPServer(limiter: frontend.limiter) { channel, operations in
      try frontend.configure(channel) { path in
        await operations(path).map { HTTPAnswer(status: $0.status, contentType: $0.contentType, body: $0.body) }
      }
    }
    components.backgroundServices = [
      GatewayService(gateway: gateway, backends: configuration.backends, health: context.health)
    ]
    if try context.settings.bool(GatewayProgramConfiguration.readyNeedsBackends) {
      components.readinessChecks = configuration.backends.map { backend in
        ReadinessCheck("backend \(backend.name)") {
          gateway.missingBackends.contains(backend.name) ? "no serving address" : nil
        }
      }
    }
    components.beginDrain = { gateway.endStreams() }
    components.close = {
      await gateway.stop()
      await store.close()
    }
    return components
  }

  private static func operatorAnswer(
    _ gateway: Gateway, _ request: AdminRoutes.Request
  ) async -> AdminRoutes.Response? {
    do {
      let limit = request.query["limit"].flatMap { Int($0) }
      guard let page = try await gateway.operatorPage(path: request.path, limit: limit) else { return nil }
      guard request.method == "GET" else { return .failure(405, "the path takes GET alone") }
      return AdminRoutes.Response(status: 200, body: page)
    } catch { return AdminRoutes.Response(status: 500, body: Array("{}\n".utf8)) }
  }
}
