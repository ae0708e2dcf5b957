import Activities
import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileStore
import Gateway
import Notifications

/// The processes of a run. Each is a `Node` with different services.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class Suite: @unchecked Sendable {
  let world: World
  let network: Network
  let echoLog: EchoLog
  let apns: SimulatedAPNs
  private(set) var notificationsComponent: NotificationsComponent?
  private(set) var activitiesComponent: ActivitiesComponent?
  private(set) var gateway: Node!
  private(set) var echoes: [Node] = []
  private(set) var notifications: Node!
  private(set) var activities: Node!
  private var isDelivering = false

  init(_ world: World, files: SharedFiles) {
    self.world = world
    network = Network(world)
    echoLog = EchoLog(world)
    apns = SimulatedAPNs(world)
    let (echoLog, apns) = (echoLog, apns)
    echoes = ["echo-1", "echo-2"].enumerated().map { index, name in
      Node(name, host: "10.0.1.\(index + 1)", network) { node in
        Running(server: node.server([LoggingEcho(echoLog, node)]))
      }
    }
    notifications = Node("notifications", host: "10.0.2.1", network) { [unowned self] node in
      let component = try await NotificationsComponent(
        store: node.storeConfiguration(), nowMs: { node.world.wallMs }, random: node.numbers("ids"))
      notificationsComponent = component
      return Running(server: node.server(component.services), store: component.store) { component.endWatches() }
    }
    activities = Node("activities", host: "10.0.3.1", network) { [unowned self] node in
      var configuration = ActivitiesConfiguration(store: node.storeConfiguration(), addedKeysDirectory: node.folder)
      configuration.signingKeysDirectory = files.keysFolder
      configuration.teamID = "TEAM123456"
      configuration.trustFile = files.trustFile
      configuration.updateSpacingMs = 30
      let component = try await ActivitiesComponent(
        configuration, group: node.world.loop,
        environment: .init(
          nowMs: { node.world.wallMs }, steadyMs: { node.world.timeMs }, random: node.numbers("ids")),
        sender: apns.connection(), canSign: { _, _ in true })
      activitiesComponent = component
      return Running(server: node.server(component.services), store: component.store) { component.endWatches() }
    }
    let backends = [
      BackendConfiguration(
        name: "echo", servicePrefix: "campanile.rpc.v1.EchoService", addresses: echoes.map(\.address)),
      BackendConfiguration(
        name: "notifications", servicePrefix: "campanile.notifications.v1", addresses: [notifications.address]),
      BackendConfiguration(
        name: "activities", servicePrefix: "campanile.activities.v1", addresses: [activities.address]),
    ]
    gateway = Node("gateway", host: "10.0.0.1", network) { node in
      let methods =
        EchoServiceMethods.all + NotificationsServiceMethods.all + ActivitiesServiceMethods.all
        + PushTokensServiceMethods.all
      var configuration = GatewayConfiguration(backends: backends, methods: methods, internalToken: Node.token)
      configuration.resolveMs = nil
      configuration.connectTimeoutMs = 300
      configuration.secondAttempts.hedgeMs = 25
      configuration.random = node.numbers("balancing")
      configuration.clientEnvironment = node.network.environment(of: "gateway")
      let store = try Store(node.storeConfiguration(), migrations: Gateway.migrations)
      let gateway = try Gateway(configuration, store: store, group: node.world.loop, logger: node.logger)
      try await gateway.prepare()
      let local = TypedDispatcher(MethodRegistry(gateway.services), logger: node.logger)
      let server = node.server(
        gateway.dispatcher(local: local, observer: SilentServerObserver()), gateway.helloAuthenticator)
      return Running(server: server, store: store) { await gateway.endForwarding() }
    }
  }

  var nodes: [Node] { [gateway, notifications, activities] + echoes }

  func client(_ name: String) throws -> RPCClient {
    var configuration = ClientConfiguration(
      host: gateway.address.host, port: gateway.address.port, token: Node.token)
    configuration.connectTimeout = .milliseconds(300)
    configuration.backoff.initialDelay = .milliseconds(30)
    configuration.backoff.delayMax = .milliseconds(300)
    configuration.keepAlive.interval = .milliseconds(400)
    configuration.keepAlive.timeout = .milliseconds(200)
    return try RPCClient(configuration, group: world.loop, environment: network.environment(of: name))
  }

  /// Delivers pushes repeatedly; `everyMs` returns the interval.
  func deliver(everyMs: @escaping @Sendable () -> Int64, while isWanted: @escaping @Sendable () -> Bool) {
    world.after(ms: everyMs()) { [self] in
      guard isWanted() else { return }
      deliver(everyMs: everyMs, while: isWanted)
      guard !isDelivering, activities.isUp, let component = activitiesComponent else { return }
      isDelivering = true
      world.task { [self] in
        // A round that fails because of the disk is repeated.
        _ = try? await component.deliverOnce()
        isDelivering = false
      }
    }
  }

  /// Ends everything and releases all resources of the run.
  func end() {
    for node in nodes {
      node.onCrash = { _ in }
      node.crash()
    }
    notificationsComponent = nil
    activitiesComponent = nil
  }
}
