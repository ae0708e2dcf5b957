import APNs
import CampanileBase
import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore
import NIOCore
import Synchronization

/// Delivery before its store is open.
///
/// Created before the store, because its notifier observes commits; `start` creates the running part.
final class PushDelivery: Sendable {
  struct Configuration: Sendable {
    var limits = DeliveryLimits()
    var endpoints = APNsEndpoints()
    var sender = APNsSender.Configuration()
    var budget = PriorityBudget.Limits()
    /// For activities whose user allows frequent updates.
    var frequentBudget = PriorityBudget.Limits.frequent
    var backoff = Backoff()
    var providerTokens = ProviderTokenState.Limits()
    /// Directory of the operator's keys; nil if there are only keys added by RPC.
    var keysDirectory: String?
    /// Directory for keys that are added by RPC, unless the database is on a server.
    var addedKeysDirectory: String
    /// Team id for keys without a description file.
    var teamID: String?

    init(addedKeysDirectory: String) { self.addedKeysDirectory = addedKeysDirectory }
  }

  struct Environment: Sendable {
    /// The wall clock in milliseconds since 1970.
    var nowMs: @Sendable () -> Int64
    /// A monotonic clock in milliseconds.
    var steadyMs: @Sendable () -> Int64
    var random: @Sendable () -> UInt64
    var log: @Sendable (String) -> Void
    var tracer: Tracer?

    /// Returns random numbers in 0..<1.
    var fraction: @Sendable () -> Double {
      let random = random
      return { Double(random() >> 11) / Double(1 << 53) }
    }
  }

  let configuration: Configuration
  let environment: Environment
  /// Observes the commits of the store: `begin`, `complete` and `committed` are its hooks.
  let notifier: DeliveryNotifier
  let queue: PushQueue
  let keys = SigningKeys()
  /// The revision of the stored keys that `keys` contains.
  let keysRevision = Mutex("")
  private let loggedProblems = Mutex<Set<String>>([])

  /// - Parameter hub: Holds the watches of pushes.
  init(_ configuration: Configuration, hub: WatchHub, environment: Environment) {
    self.configuration = configuration
    self.environment = environment
    notifier = DeliveryNotifier(ends: PushEnds(epoch: environment.random(), hub: hub))
    queue = PushQueue(
      limits: configuration.limits, notifier: notifier,
      ids: PushIDGenerator(nowMs: environment.nowMs, random: environment.random), nowMs: environment.nowMs)
  }

  /// Returns whether a push of this app can be signed and has a host. Requests are validated with it before anything is
  /// queued.
  func hasRoute(app: String, environment: String) -> Bool {
    configuration.endpoints.push[environment] != nil && keys.id(app: app, environment: environment) != nil
  }

  /// Reads the stored state, loads the keys, and creates the sender and dispatcher. Tests replace the sender with
  /// `sender`.
  ///
  /// Unusable keys are logged; the others are used.
  ///
  /// - Throws: The store's errors; NIOSSL's errors if the file of trusted certificates is unusable.
  func start(
    store: Store, registry: any PushTokenRegistry, listener: (any PushListener)? = nil, group: any EventLoopGroup,
    sender: (any PushSending)? = nil
  ) async throws -> RunningDelivery {
    try await notifier.ends.open(store)
    try await learn(store)
    let tokens = try await ProviderTokens(
      store: store, keys: keys, limits: configuration.providerTokens.shared(by: store), wallMs: environment.nowMs,
      steadyMs: environment.steadyMs)
    let own = try apnsSender(group)
    let caller = try APNsCaller(configuration.sender, group: group, environment: senderEnvironment)
    let routing = SigningRouting(
      endpoints: configuration.endpoints, keys: keys, tokens: tokens, wallMs: environment.nowMs)
    let fraction = environment.fraction
    let dispatcher = PushDispatcher(
      store: store, queue: queue, registry: registry, listener: listener, routing: routing, sender: sender ?? own,
      budget: configuration.budget, frequentBudget: configuration.frequentBudget, backoff: configuration.backoff,
      environment: .init(
        nowMs: environment.nowMs, steadyMs: environment.steadyMs, random: fraction, log: environment.log,
        tracer: environment.tracer))
    try await AddedKeys(delivery: self, store: store).prepare()
    loadKeys(includingAdded: !store.isShared)
    return RunningDelivery(
      delivery: self, store: store, dispatcher: dispatcher, tokens: tokens, routing: routing, sender: own,
      caller: caller)
  }

  /// Reads the key directories again. New keys are used immediately. A key whose file was deleted stays in use until it
  /// is revoked or the process ends.
  ///
  /// - Parameter includingAdded: Whether keys that were added by RPC are in files.
  func loadKeys(includingAdded: Bool = true) {
    var directories = [SigningKeyFiles(directory: configuration.addedKeysDirectory, teamID: configuration.teamID)]
    if !includingAdded { directories = [] }
    if let directory = configuration.keysDirectory {
      directories.append(SigningKeyFiles(directory: directory, teamID: configuration.teamID))
    }
    for (index, files) in directories.enumerated() {
      let contents = files.read()
      for entry in contents.entries { _ = keys.add(entry) }
      // The directory of added keys does not exist until the first key is added.
      let isAdded = includingAdded && index == 0
      if !isAdded || !contents.entries.isEmpty { tell(contents.problems) }
    }
  }

  /// Logs each problem once, however often the directories are read.
  private func tell(_ problems: [String]) {
    for problem in problems where loggedProblems.withLock({ $0.count < 10_000 && $0.insert(problem).inserted }) {
      environment.log(problem)
    }
  }

  private var senderEnvironment: SenderEnvironment {
    SenderEnvironment(nowMs: environment.steadyMs, random: environment.fraction, log: environment.log)
  }

  private func apnsSender(_ group: any EventLoopGroup) throws -> APNsSender {
    try APNsSender(configuration.sender, group: group, environment: senderEnvironment, signal: notifier.signal)
  }

  /// Loads what the first push requires: revoked keys, routes, the count, and the greatest id, which new ids must
  /// exceed.
  ///
  /// Call it again when this process takes over the delivery from another one.
  func learn(_ store: Store) async throws {
    try await store.read { transaction in
      for key in try SigningKeyTable.revoked(transaction) { keys.revoke(key) }
      notifier.learn(try PushTable.routes(transaction))
      let (count, last) =
        try transaction.queryOne("SELECT count(*), max(apns_id) FROM pushes") {
          (try $0.integer(0), try $0.textIfPresent(1))
        } ?? (0, nil)
      notifier.recounted(count)
      if !store.isShared {
        let lanes = try transaction.query(
          PushTable.lanesSQL, [.int(QueueHints.lanesMax + 1)], rowsMax: QueueHints.lanesMax + 1
        ) { (lane: try $0.text(0), isCrowded: try $0.bool(1)) }
        let hasDeadLetters = try transaction.queryOne(DeadLetters.anySQL) { _ in true } ?? false
        notifier.hint { $0.learn(lanes: lanes, hasDeadLetters: hasDeadLetters) }
      }
      let lastEnded = try transaction.queryOne("SELECT max(apns_id) FROM push_ledger") { try $0.textIfPresent(0) }
      if let greatest = [last, lastEnded ?? nil].compactMap({ $0 }).max() { _ = queue.ids.next(after: greatest) }
    }
  }
}
